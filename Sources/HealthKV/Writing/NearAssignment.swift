import HealthModel

/// Decides which row is which stored sample where values are near, but not equal. A sample is at most one row.
///
/// The pairs that differ least come first. A row for which none is left gets one if the others can do with other
/// samples: then a file that holds all that is stored finds all of it.
struct NearAssignment {
    /// A row, and a stored sample that it may be.
    struct Pair {
        let row: Int
        let sample: SampleID
        /// How far the values lie apart, in any one unit.
        let difference: Double
    }

    /// The rows that are looked at to find a sample for one more.
    private static let mostSteps = 4_096

    /// The samples that rows are.
    private(set) var samples: [Int: SampleID] = [:]
    private var rows: [SampleID: Int] = [:]

    init(_ pairs: [Pair]) {
        var choices: [Int: [SampleID]] = [:]
        let sorted = pairs.enumerated().sorted {
            ($0.element.difference, $0.offset) < ($1.element.difference, $1.offset)
        }
        for pair in sorted.map(\.element) {
            choices[pair.row, default: []].append(pair.sample)
            if samples[pair.row] == nil, rows[pair.sample] == nil { assign(pair.sample, to: pair.row) }
        }
        var spent: Set<SampleID> = []
        for row in choices.keys.sorted() where samples[row] == nil { makeRoom(for: row, choices, &spent) }
    }

    private mutating func assign(_ sample: SampleID, to row: Int) {
        samples[row] = sample
        rows[sample] = row
    }

    /// Finds a sample for a row by giving other rows other samples, if that can be done.
    ///
    /// - Parameter spent: the samples that earlier searches reached in vain. They are not tried again.
    private mutating func makeRoom(for row: Int, _ choices: [Int: [SampleID]], _ spent: inout Set<SampleID>) {
        // From which row each sample was reached, in the order of the rows.
        var (reached, waiting, next): ([SampleID: Int], [Int], Int) = ([:], [row], 0)
        while next < waiting.count, next < NearAssignment.mostSteps {
            let asking = waiting[next]
            next += 1
            for sample in choices[asking] ?? [] where reached[sample] == nil && !spent.contains(sample) {
                reached[sample] = asking
                if let holder = rows[sample] {
                    waiting.append(holder)
                    continue
                }
                var (free, taker): (SampleID?, Int) = (sample, asking)
                while let given = free {
                    free = samples[taker]
                    assign(given, to: taker)
                    if let free { taker = reached[free]! }
                }
                return
            }
        }
        spent.formUnion(reached.keys)
    }
}
