import LMDB
import Testing
import TestSupport

@Suite struct TypedTableTests {
    private struct Number: KeyCodec, Hashable {
        var value: UInt16

        init(_ value: UInt16) {
            self.value = value
        }

        var keyBytes: [UInt8] { [UInt8(value >> 8), UInt8(value & 255)] }

        init(keyBytes: RawSpan) throws {
            guard keyBytes.byteCount == 2 else { throw Malformed() }
            let bytes = keyBytes.array
            value = UInt16(bytes[0]) << 8 | UInt16(bytes[1])
        }
    }

    private struct Text: RecordCodec, Equatable {
        var text: String

        init(_ text: String) {
            self.text = text
        }

        var recordBytes: [UInt8] { Array(text.utf8) }

        init(recordBytes: RawSpan) throws {
            guard let text = String(validating: recordBytes.array, as: UTF8.self) else { throw Malformed() }
            self.text = text
        }
    }

    private struct Malformed: Error {}

    @Test("Typed records are read back in the order of their keys")
    func records() throws {
        let folder = TemporaryFolder()
        let environment = try Environment.small(folder)
        let texts = TypedTable<Number, Text>(try environment.makeTable())
        try environment.write { transaction in
            for number: UInt16 in [300, 2, 40] {
                try texts.put(Text("number \(number)"), under: Number(number), in: &transaction)
            }
            #expect(try texts.delete(Number(40), in: &transaction))
            #expect(try !texts.delete(Number(40), in: &transaction))
            try texts.put(Text("five"), under: Number(5), in: &transaction)
        }
        do {
            let transaction = try environment.beginRead()
            let view = transaction.view
            #expect(try texts.get(Number(2), in: view) == Text("number 2"))
            #expect(try texts.get(Number(40), in: view) == nil)
            #expect(try texts.contains(Number(300), in: view))
            #expect(try keys(texts, from: nil, in: view) == [2, 5, 300])
            #expect(try keys(texts, from: 3, in: view) == [5, 300])
            #expect(try keys(texts, from: 301, in: view) == [])
            #expect(try keys(texts, from: nil, limit: 2, in: view) == [2, 5])
        }
        try environment.expectIntact()
    }

    @Test("A record that does not decode throws the error of its codec")
    func malformedRecord() throws {
        let folder = TemporaryFolder()
        let environment = try Environment.small(folder)
        let texts = TypedTable<Number, Text>(try environment.makeTable())
        try environment.write { try $0.put(texts.table, [0, 1], [0xFF]) }
        let transaction = try environment.beginRead()
        #expect(throws: Malformed.self) { try texts.get(Number(1), in: transaction.view) }
        #expect(throws: Malformed.self) { try texts.forEach(in: transaction.view) { _, _ in true } }
    }

    private func keys(
        _ table: TypedTable<Number, Text>, from start: UInt16?, limit: Int = .max, in view: View
    ) throws -> [UInt16] {
        var keys: [UInt16] = []
        try table.forEach(from: start.map { Number($0) }, in: view) { key, _ in
            keys.append(key.value)
            return keys.count < limit
        }
        return keys
    }
}
