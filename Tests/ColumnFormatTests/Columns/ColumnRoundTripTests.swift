import Testing
import TestSupport

@testable import ColumnFormat

/// Every column decodes to the written values, bit for bit, for any input.
@Suite struct ColumnRoundTripTests {
    private func decode(_ bytes: [UInt8], rows: Int) throws -> (column: IntColumn, values: [Int64]) {
        let column = try IntColumn(bytes.rawBytes, 0..<bytes.count - BitPacking.slack, rows: rows)
        var scratch = ScratchColumn<Int64>(capacity: rows)
        scratch.refill { column.decode(bytes.rawBytes, into: &$0) }
        return (column, (0..<rows).map { scratch.span[$0] })
    }

    @Test("Integers of every shape decode correctly, all together and one by one", arguments: [0, 1, 2, 3])
    func integers(hints: Int) throws {
        var random = SeededGenerator()
        for round in 0..<150 {
            let values = Adversary.integers(&random)
            let plan = IntColumn.plan(values.span, IntColumn.Hints(rawValue: hints))
            let bytes = written { IntColumn.write(plan, into: &$0) }
            #expect(bytes.count - BitPacking.slack == plan.byteCount, "round \(round)")
            let (column, decoded) = try decode(bytes, rows: values.count)
            #expect(decoded == values, "round \(round)")
            #expect(!column.isConstant || Set(values).count == 1, "round \(round)")
            for _ in 0..<5 {
                let row = random.number(0..<values.count)
                #expect(column.value(bytes.rawBytes, at: row) == values[row], "round \(round), row \(row)")
                let known = random.number(0..<row + 1)
                #expect(column.step(bytes.rawBytes, from: known, values[known], to: row) == values[row])
            }
            #expect(Set(column.distinctValues(bytes.rawBytes)) == Set(values), "round \(round)")
        }
    }

    @Test("Words of every width from 0 to 64 bits decode correctly")
    func widths() throws {
        var random = SeededGenerator()
        for width in 0...64 {
            let mask: UInt64 = width == 0 ? 0 : .max >> UInt64(64 - width)
            for base in [0, Int64.min, .max, -7] {
                // Always include the widest word, so that the column cannot be narrower.
                let values =
                    [base, base &+ Int64(bitPattern: mask)]
                    + (0..<40).map { _ in base &+ Int64(bitPattern: random.next() & mask) }
                let bytes = written { IntColumn.write(IntColumn.plan(values.span, []), into: &$0) }
                #expect(try decode(bytes, rows: values.count).values == values, "width \(width), base \(base)")
            }
        }
    }

    @Test("The width that is chosen for some words is the cheapest of all, the widest if several are")
    func cheapestWidth() {
        var random = SeededGenerator()
        for round in 0..<400 {
            let widest = random.number(0..<65)
            let mask: UInt64 = widest == 0 ? 0 : .max >> UInt64(64 - widest)
            let words = (0..<random.number(1..<200)).map { _ in
                random.next() & mask >> UInt64(random.number(0..<4) * random.number(0..<17))
            }
            var best = (width: 64, exceptions: 0, bytes: BitPacking.byteCount(words: words.count, width: 64))
            for width in (0...BitPacking.widest).reversed() {
                let exceptions = words.count { 64 - $0.leadingZeroBitCount > width }
                let bytes = BitPacking.byteCount(words: words.count, width: width) + 10 * exceptions
                if bytes < best.bytes { best = (width, exceptions, bytes) }
            }
            let found = WidthHistogram(words.span).cheapest(rows: words.count)
            #expect(found.width == best.width && found.exceptions == best.exceptions, "round \(round)")
        }
    }

    @Test("Distinct strings are numbered in the order in which they come, few or many", arguments: [3, 128, 129, 400])
    func texts(rows: Int) throws {
        var random = SeededGenerator()
        let pool = (0..<random.number(1..<rows + 1)).map { number -> [UInt8] in
            // Strings that differ only at the beginning, only at the end, and the empty one.
            let text = number % 3 == 0 ? "\(number) of the same end" : "the same beginning of \(number / 2)"
            return number == 1 ? [] : Array(text.utf8)
        }
        let texts = (0..<rows).map { _ in random.number(0..<4) == 0 ? nil : random.pick(pool) }
        let bytes = written { TextColumn.write(texts, into: &$0) }
        let range = 0..<bytes.count - BitPacking.slack
        #expect(try TextColumn.decode(bytes.rawBytes, range, rows: rows) == texts)
        var distinct: [[UInt8]] = []
        for text in texts.compactMap(\.self) where !distinct.contains(text) { distinct.append(text) }
        #expect(try TextColumn.dictionary(bytes.rawBytes, range, rows: rows).strings == distinct)
    }

    @Test("A common scale is found and costs no precision")
    func scales() throws {
        for scale in IntColumn.scales {
            let values = (0..<100).map { 12_345 + Int64($0 * $0 % 50) * scale }
            let plan = IntColumn.plan(values.span, [.scaled])
            #expect(IntColumn.scales[plan.scale] == scale)
            let bytes = written { IntColumn.write(plan, into: &$0) }
            #expect(try decode(bytes, rows: values.count).values == values)
            // One odd value removes the common scale.
            let odd = values + [12_345 + scale + 1]
            #expect(IntColumn.plan(odd.span, [.scaled]).scale == 0)
        }
    }

    @Test("Doubles of every kind decode bit for bit, all together and one by one")
    func doubles() throws {
        var random = SeededGenerator()
        for round in 0..<300 {
            let values = Adversary.values(&random)
            let plan = ValueColumn.plan(values.span)
            let bytes = written { ValueColumn.write(plan, into: &$0) }
            #expect(bytes.count - BitPacking.slack == plan.byteCount, "round \(round)")
            let column = try ValueColumn(bytes.rawBytes, 0..<bytes.count - BitPacking.slack, rows: values.count)
            var scratch = ScratchColumn<Double>(capacity: values.count)
            scratch.refill { column.decode(bytes.rawBytes, into: &$0) }
            let decoded = (0..<values.count).map { scratch.span[$0].bitPattern }
            #expect(decoded == values.map(\.bitPattern), "round \(round)")
            for _ in 0..<5 {
                let row = random.number(0..<values.count)
                #expect(column.value(bytes.rawBytes, at: row).bitPattern == values[row].bitPattern)
            }
        }
    }

    @Test("Each odd double survives among ordinary ones", arguments: Adversary.doubles)
    func oddDouble(value: Double) throws {
        for place in [0, 1, 15, 16, 31] {
            var values = (0..<32).map { 70 + Double($0) / 10 }
            values[place] = value
            let bytes = written { ValueColumn.write(ValueColumn.plan(values.span), into: &$0) }
            let column = try ValueColumn(bytes.rawBytes, 0..<bytes.count - BitPacking.slack, rows: values.count)
            for row in 0..<32 { #expect(column.value(bytes.rawBytes, at: row).bitPattern == values[row].bitPattern) }
        }
    }

    @Test("Readings of a weighing scale with one decimal take two bytes or less a row")
    func decimals() {
        let values = (0..<1_000).map { 60 + Double($0 * 7919 % 300) / 10 }
        #expect(ValueColumn.plan(values.span).byteCount < 2 * values.count)
    }

    @Test("Texts decode correctly, including missing, empty and equal ones")
    func texts() throws {
        var random = SeededGenerator()
        for round in 0..<200 {
            let rows = random.pick(Adversary.counts.filter { $0 <= 500 })
            let pool = (0..<random.number(1..<20)).map { _ in
                (0..<random.pick([0, 1, 5, 300])).map { _ in UInt8(truncatingIfNeeded: random.next()) }
            }
            let share = random.pick([0, 0.05, 0.5, 1])
            let texts: [[UInt8]?] = (0..<rows).map { _ in random.chance(share) ? random.pick(pool) : nil }
            let bytes = written { TextColumn.write(texts, into: &$0) }
            let range = 0..<bytes.count - BitPacking.slack
            #expect(try TextColumn.decode(bytes.rawBytes, range, rows: rows) == texts, "round \(round)")
        }
    }
}
