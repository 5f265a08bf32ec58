import Testing

@testable import ColumnFormat

@Suite("Ranges of a decoded column")
struct ScratchColumnTests {
    private let numbers: [Double] = [3, -0.0, 7.5, -2, 0, 11, 1e9, -1e-9, 5]

    private func column<Element: BitwiseCopyable>(_ elements: [Element]) -> ScratchColumn<Element> {
        var column = ScratchColumn<Element>(capacity: elements.count)
        column.refill { column in for element in elements { column.append(element) } }
        return column
    }

    @Test("Sum, least and greatest value of every range equal those computed row by row") func stretches() {
        let counts: [Int64] = [1, 0, 2, 3, 0, 1, 1, 4, 1]
        let values = column(numbers)
        let rows = column(counts)
        for first in 0...numbers.count {
            for end in first...numbers.count {
                let stretch = first..<end
                let counted = stretch.filter { counts[$0] > 0 }.map { numbers[$0] }
                let sum = numbers[stretch].reduce(0, +)
                #expect(abs(values.sum(stretch) - sum) <= 1e-6, "\(stretch)")
                #expect(rows.sum(stretch) == counts[stretch].reduce(0, +), "\(stretch)")
                #expect(values.least(stretch, where: rows) == counted.min() ?? .infinity, "\(stretch)")
                #expect(values.greatest(stretch, where: rows) == counted.max() ?? -.infinity, "\(stretch)")
            }
        }
    }

    @Test("NaN makes a sum NaN and is neither least nor greatest; infinities are", arguments: 0..<9)
    func limits(row: Int) {
        let all = column([Int64](repeating: 1, count: numbers.count))
        for odd in [Double.nan, .infinity, -.infinity] {
            var changed = numbers
            changed[row] = odd
            let values = column(changed)
            let sum = values.sum(0..<9)
            #expect(odd.isNaN ? sum.isNaN : sum == odd)
            let others = changed.filter { !$0.isNaN }
            #expect(values.least(0..<9, where: all) == others.min())
            #expect(values.greatest(0..<9, where: all) == others.max())
        }
        #expect(column([Int64.max, 1]).sum(0..<2) == .min)
    }
}
