import LMDB
import Testing
import TestSupport

@Suite struct WriteTransactionTests {
    @Test("Records are stored, replaced, inserted once and deleted once")
    func records() throws {
        let folder = TemporaryFolder()
        let environment = try Environment.small(folder)
        let table = try environment.makeTable()
        try environment.write { transaction in
            try transaction.put(table, [1], [10])
            try transaction.put(table, [1], [11])
            #expect(try transaction.insert(table, [2], [20]))
            #expect(try !transaction.insert(table, [2], [21]))
            try transaction.put(table, [3], [UInt8]().span)
            try transaction.put(table, [4], [1, 2, 3].rawSpan)
            #expect(try transaction.delete(table, [1]))
            #expect(try !transaction.delete(table, [1]))
        }
        let records = try environment.read { try $0.view.records(of: table) }
        #expect(records.map(\.0) == [[2], [3], [4]])
        #expect(records.map(\.1) == [[20], [], [1, 2, 3]])
        try environment.expectIntact()
    }

    @Test("A transaction that does not commit stores nothing")
    func givingUp() throws {
        let folder = TemporaryFolder()
        let environment = try Environment.small(folder)
        let table = try environment.makeTable()
        do {
            var transaction = try environment.beginWrite()
            try transaction.put(table, [1], [1])
            #expect(try transaction.view.contains(table, [1]))
        }
        #expect(try environment.value(table, [1]) == nil)
        #expect(throws: CancellationError.self) {
            try environment.write { transaction in
                try transaction.put(table, [1], [1])
                throw CancellationError()
            }
        }
        #expect(try environment.value(table, [1]) == nil)
    }

    @Test("Appended keys must ascend")
    func appending() throws {
        let folder = TemporaryFolder()
        let environment = try Environment.small(folder)
        let table = try environment.makeTable()
        try environment.write { transaction in
            for key in UInt8.min..<100 { try transaction.append(table, [key], [key]) }
            try transaction.append(table, [200], [1].rawSpan)
        }
        try environment.write { transaction in
            #expect(code { try transaction.append(table, [150], [1]) } == .keyExists)
        }
        #expect(try environment.read { try $0.view.statistics(table).entries } == 101)
        try environment.expectIntact()
    }

    @Test(
        "Values around the size of a page are read back unchanged",
        arguments: [0, 1, 2038, 2039, 4080, 4081, 4096, 9000])
    func valueSizes(count: Int) throws {
        let folder = TemporaryFolder()
        let environment = try Environment.small(folder)
        let table = try environment.makeTable()
        let value = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
        try environment.write { try $0.put(table, [1], value) }
        #expect(try environment.value(table, [1]) == value)
        try environment.write { transaction in
            try transaction.put(table, [2], byteCount: count) { output in
                for byte in value { output.append(byte) }
            }
        }
        #expect(try environment.value(table, [2]) == value)
        try environment.expectIntact()
    }

    @Test("A value that is only partly filled stops the program")
    func partialFill() async {
        let folder = TemporaryFolder()
        await #expect(processExitsWith: .failure) { [path = folder.path as String] in
            let environment = try Environment(folder: path)
            let table = try environment.makeTable()
            try environment.write { try $0.put(table, [1], byteCount: 2) { $0.append(UInt8(1)) } }
        }
    }

    @Test("A key has 1 to 511 bytes", arguments: [(0, LMDBError.Code.badValueSize), (512, .keyTooLong)])
    func refusedKeys(count: Int, expected: LMDBError.Code) throws {
        let folder = TemporaryFolder()
        let environment = try Environment.small(folder)
        let table = try environment.makeTable()
        let key = [UInt8](repeating: 1, count: count)
        try environment.write { transaction in
            #expect(code { try transaction.put(table, key, [1]) } == expected)
            #expect(code { try transaction.put(table, key, byteCount: 0) { _ in } } == expected)
            #expect(code { _ = try transaction.insert(table, key, [1]) } == expected)
            #expect(code { try transaction.append(table, key, [1]) } == expected)
            #expect(code { try transaction.delete(table, key) } == expected)
            #expect(code { _ = try transaction.view.get(table, key) } == expected)
            #expect(code { _ = try transaction.view.contains(table, key) } == expected)
            // The check precedes the call of LMDB, so the transaction stays usable.
            try transaction.put(table, [1], [1])
        }
        #expect(try environment.value(table, [1]) == [1])
    }

    @Test("The longest and the shortest key work", arguments: [1, 511])
    func acceptedKeys(count: Int) throws {
        let folder = TemporaryFolder()
        let environment = try Environment.small(folder)
        let table = try environment.makeTable()
        let key = [UInt8](repeating: 1, count: count)
        try environment.write { transaction in
            try transaction.put(table, key, [1])
            #expect(try !transaction.insert(table, key, [2]))
        }
        #expect(try environment.value(table, key) == [1])
        #expect(try environment.write { try $0.delete(table, key) })
        try environment.expectIntact()
    }

    @Test("A cleared table is empty and still exists")
    func clearing() throws {
        let folder = TemporaryFolder()
        let environment = try Environment.small(folder)
        let table = try environment.makeTable()
        let other = try environment.makeTable("other")
        try environment.write { transaction in
            for key in UInt8.min..<100 { try transaction.put(table, [key], [UInt8](repeating: 1, count: 1000)) }
            try transaction.put(other, [1], [1])
        }
        try environment.write { try $0.clear(table) }
        #expect(try environment.read { try $0.view.statistics(table).entries } == 0)
        #expect(try environment.value(other, [1]) == [1])
        try environment.write { try $0.put(table, [1], [1]) }
        #expect(try environment.value(table, [1]) == [1])
        try environment.expectIntact()
    }

    @Test("A second write transaction on the same thread is an error and not a deadlock")
    func writingTwice() throws {
        let folder = TemporaryFolder()
        let environment = try Environment.small(folder)
        let table = try environment.makeTable()
        var transaction = try environment.beginWrite()
        #expect(code { _ = try environment.beginWrite() } == .wouldDeadlock)
        try transaction.put(table, [1], [1])
        try transaction.commit()
        #expect(try environment.value(table, [1]) == [1])
    }

    @Test("A write transaction that ends on another thread stops the program")
    func endingElsewhere() async {
        let folder = TemporaryFolder()
        await #expect(processExitsWith: .failure) { [path = folder.path as String] in
            let environment = try Environment(folder: path)
            let table = try environment.makeTable()
            let writer = WriterThread()
            try sendAway(environment, table, to: writer)
            writer.stop()
        }
    }

    @Test("After a failure inside LMDB, the transaction can only be aborted")
    func failedTransaction() throws {
        let folder = TemporaryFolder()
        let environment = try Environment.small(folder, mapSize: 1 << 20)
        let table = try environment.makeTable()
        var transaction = try environment.beginWrite()
        #expect(code { try transaction.put(table, [1], [UInt8](repeating: 1, count: 2 << 20)) } == .mapFull)
        #expect(code { try transaction.put(table, [1], [1]) } == .badTransaction)
        do {
            try transaction.commit()
            Issue.record("it must not commit")
        } catch {
            #expect(error.code == .badTransaction)
        }
        try environment.write { try $0.put(table, [1], [1]) }
        #expect(try environment.value(table, [1]) == [1])
        try environment.expectIntact()
    }
}

/// unchecked: breaks the rule on purpose.
private final class Carrier: @unchecked Sendable {
    private var transaction: WriteTransaction?

    func take(_ transaction: consuming WriteTransaction) {
        self.transaction = consume transaction
    }

    func drop() {
        transaction = nil
    }
}

/// The types keep most transactions on their thread; the environment checks the others at run time.
private func sendAway(_ environment: Environment, _ table: Table, to writer: WriterThread) throws {
    let carrier = Carrier()
    var transaction = try environment.beginWrite()
    try transaction.put(table, [1], [1])
    carrier.take(transaction)
    writer.perform { carrier.drop() }
}
