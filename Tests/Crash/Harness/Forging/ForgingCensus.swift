import ColumnFormat

/// How far forgeries of each table reach, and which errors each step of the work met.
struct ForgingCensus: Sendable {
    /// The steps of one table's files: how many there were, and how many met a code.
    private struct Reach: Sendable {
        var files = 0
        var opened = 0
        var reached = 0
        var met: [String: Int] = [:]
    }

    private var forged: [Substring] = []
    private var reaches: [String: Reach] = [:]
    private var codes: [String: Int] = [:]
    private var microseconds: [String: Int] = [:]
    private var files = 0

    /// Remembers the tables and mutations of the file that comes next.
    mutating func begin(_ words: ArraySlice<Substring>) { forged = Array(words) }

    /// Counts the outcomes of the file, such as `opening=done` and `reading=damaged,notStored`.
    mutating func count(_ words: ArraySlice<Substring>) {
        files += 1
        let steps = words.map { $0.split(separator: "=") }.filter { $0.count == 2 }
        for time in words.map({ $0.split(separator: ":") }) where time.count == 2 {
            microseconds[String(time[0]), default: 0] += Int(time[1]) ?? 0
        }
        for step in steps {
            for code in step[1].split(separator: ",") { codes["\(step[0]) \(code)", default: 0] += 1 }
        }
        // Opening accepted the file, and later code understood enough of the forgery to refuse it.
        let isOpen = steps.first.map { $0[1] == "done" } ?? false
        let later = steps.dropFirst().flatMap { $0[1].split(separator: ",") }
        let hasReached = isOpen && later.contains { $0 != "done" && $0 != "checksum" }
        // A table or mutation that occurs twice in the file counts once.
        for word in Set(forged) {
            var reach = reaches[String(word), default: Reach()]
            reach.files += 1
            if hasReached { reach.reached += 1 }
            for step in steps {
                if step[0] == "opening", step[1] == "done" { reach.opened += 1 }
                if step[1] != "done" { reach.met[String(step[0]), default: 0] += 1 }
            }
            reaches[String(word)] = reach
        }
    }

    /// The tables of which many forgeries were made and none was met behind the checksums: there the battery tests
    /// nothing.
    var unreachedTables: [String] {
        reaches.filter { name, reach in
            TableCode(name: name) != nil && reach.files >= ForgingCensus.enough && reach.reached == 0
        }.keys.sorted()
    }

    private static let enough = 20

    /// The lines of the report.
    var lines: [String] {
        let steps = ForgedOutcomes.Step.allCases.dropFirst().map(\.rawValue)
        func percent(_ part: Int, _ whole: Int) -> String { "\((100 * part + whole / 2) / max(1, whole))" }
        let table = reaches.sorted { $0.key < $1.key }.map { name, reach in
            let shares = steps.map { "\($0) \(percent(reach.met[$0] ?? 0, reach.files))" }.joined(separator: " ")
            return "\(name): files \(reach.files) opened \(percent(reach.opened, reach.files)) "
                + "reached \(percent(reach.reached, reach.files)) errors in \(shares)"
        }
        return table
            + microseconds.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value / max(1, files)) µs a file" }
            + codes.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value) of \(files)" }
    }
}
