import Testing
import TestSupport

@testable import ColumnFormat

@Suite("Packed words")
struct BitPackingTests {
    @Test("Words of every width decode correctly: all of them, a range of them and one of them")
    func widths() {
        let seed = UInt64.random(in: 0 ... .max)
        print("seed", seed)
        var generator = SeededGenerator(seed: seed)
        for width in Array(0...BitPacking.widest) + [64] {
            let mask: UInt64 = width == 64 ? .max : (1 << UInt64(width)) - 1
            let words = (0..<Int.random(in: 1...300, using: &generator)).map { _ in generator.next() & mask }
            var bytes: [UInt8] = [7, 7, 7]
            BitPacking.pack(words.span, width: width, into: &bytes)
            bytes.append(contentsOf: repeatElement(0xFF, count: BitPacking.slack))
            let from = Int.random(in: 0..<words.count, using: &generator)
            var read: [UInt64] = []
            BitPacking.forEach(bytes.rawBytes, offset: 3, width: width, from..<words.count) { index, word in
                #expect(index == from + read.count)
                read.append(word)
            }
            #expect(read == Array(words[from...]))
            #expect(BitPacking.word(at: from, width: width, bytes.rawBytes, 3) == words[from])
            let sum = BitPacking.sum(bytes.rawBytes, offset: 3, width: width, from..<words.count)
            #expect(sum == words[from...].reduce(0, &+))
        }
    }

    @Test("The position of the nth set bit is found in sparse and dense words")
    func setBits() {
        var generator = SeededGenerator(seed: 1)
        for round in 0..<2_000 {
            var word = generator.next()
            if round % 3 == 1 { word &= generator.next() & generator.next() }
            if round % 3 == 2 { word |= generator.next() | generator.next() }
            if round == 0 { word = .max }
            let bits = (0..<64).filter { word >> UInt64($0) & 1 == 1 }
            for (number, bit) in bits.enumerated() { #expect(BitPacking.position(ofSetBit: number, in: word) == bit) }
        }
    }
}

@Suite("Columns of integers")
struct IntColumnTests {
    @Test("Sequential, single and range decoding agree with the written values, exceptions included")
    func agreement() throws {
        let seed = UInt64.random(in: 0 ... .max)
        print("seed", seed)
        var generator = SeededGenerator(seed: seed)
        for round in 0..<200 {
            let rows = Int.random(in: 1...700, using: &generator)
            let unit: Int64 = [1, 1_000, 1_000_000_000, 60_000_000_000].randomElement(using: &generator)!
            var value: Int64 = round % 5 == 0 ? .min / 4 : 0
            let values = (0..<rows).map { _ in
                value += unit * Int64.random(in: 0...(generator.next() % 50 == 0 ? 50_000 : 90), using: &generator)
                return value
            }
            let hints: IntColumn.Hints = round % 2 == 0 ? [.differences, .scaled] : []
            var writer = ByteWriter()
            IntColumn.write(IntColumn.plan(values.span, hints), into: &writer)
            let end = writer.count
            writer.append(0 as UInt64)
            let span = writer.bytes.rawBytes
            let column = try IntColumn(span, 0..<end, rows: rows)
            var decoded: [Int64] = []
            column.forEachValue(span) { _, value in decoded.append(value) }
            #expect(decoded == values)
            #expect((0..<rows).allSatisfy { column.value(span, at: $0) == values[$0] })
            let row = Int.random(in: 0...rows, using: &generator)
            #expect(column.sum(span, before: row) == values[..<row].reduce(0, &+))
            #expect(Set(column.distinctValues(span)) == Set(values))
            let bounds = [values.randomElement(using: &generator)!, values.randomElement(using: &generator)! + 1]
                .sorted()
            let ends = [Int64.min, values[0] - 1, values[0], bounds[0], bounds[1], values[rows - 1], .max]
            for (lower, upper) in ends.indices.flatMap({ index in ends[index...].map { (ends[index], $0) } }) {
                let (range, first) = column.rows(span, in: lower...max(lower, upper))
                #expect(range.lowerBound == values.count { $0 < lower })
                #expect(range.upperBound == values.count { $0 <= upper })
                #expect(range.lowerBound == rows || first == values[range.lowerBound])
            }
        }
    }

    @Test("Doubles survive bit for bit, including negative zero and the least one")
    func doubles() throws {
        let values: [Double] = [
            0, -0.0, 1.5, -1.5, 72.4, 1e300, .infinity, .leastNonzeroMagnitude, 0.1 + 0.2, 400, 3, 9,
        ]
        let most = values + (0..<90).map { Double($0) / 1000 }
        for values in [values, most] {
            var writer = ByteWriter()
            ValueColumn.write(ValueColumn.plan(values.span), into: &writer)
            let end = writer.count
            writer.append(0 as UInt64)
            let span = writer.bytes.rawBytes
            let column = try ValueColumn(span, 0..<end, rows: values.count)
            for row in values.indices { #expect(column.value(span, at: row).bitPattern == values[row].bitPattern) }
        }
    }
}
