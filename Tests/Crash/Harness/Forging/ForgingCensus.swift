/// How far forgeries of each table reach, and which errors each step of the work met.
struct ForgingCensus: Sendable {
    /// The steps of one table's files: how many there were, and how many met a code.
    private struct Reach: Sendable {
        var files = 0
        var opened = 0
        var met: [String: Int] = [:]
    }

    private var forged: [Substring] = []
    private var reaches: [String: Reach] = [:]
    private var codes: [String: Int] = [:]
    private var files = 0

    /// Remembers the tables and mutations of the file that comes next.
    mutating func begin(_ words: ArraySlice<Substring>) { forged = Array(words) }

    /// Counts the outcomes of the file, such as `opening=done` and `reading=damaged,notStored`.
    mutating func count(_ words: ArraySlice<Substring>) {
        files += 1
        let steps = words.map { $0.split(separator: "=") }.filter { $0.count == 2 }
        for step in steps {
            for code in step[1].split(separator: ",") { codes["\(step[0]) \(code)", default: 0] += 1 }
        }
        // A table or mutation that occurs twice in the file counts once.
        for word in Set(forged) {
            var reach = reaches[String(word), default: Reach()]
            reach.files += 1
            for step in steps {
                if step[0] == "opening", step[1] == "done" { reach.opened += 1 }
                if step[1] != "done" { reach.met[String(step[0]), default: 0] += 1 }
            }
            reaches[String(word)] = reach
        }
    }

    /// The lines of the report.
    var lines: [String] {
        let steps = ForgedOutcomes.Step.allCases.dropFirst().map(\.rawValue)
        func percent(_ part: Int, _ whole: Int) -> String { "\((100 * part + whole / 2) / max(1, whole))" }
        let table = reaches.sorted { $0.key < $1.key }.map { name, reach in
            let shares = steps.map { "\($0) \(percent(reach.met[$0] ?? 0, reach.files))" }.joined(separator: " ")
            return "\(name): files \(reach.files) opened \(percent(reach.opened, reach.files)) errors in \(shares)"
        }
        return table
            + codes.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value) of \(files)" }
    }
}
