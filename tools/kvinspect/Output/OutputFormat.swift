/// How a verb prints its data.
enum OutputFormat: String, CaseIterable {
    /// Columns for people.
    case table
    /// One object with an envelope.
    case json
    /// One object a line.
    case jsonl
    /// A header and rows, as RFC 4180 has it.
    case csv
}

/// How the process ends. The numbers are part of the contract.
struct ExitCode: Equatable {
    let rawValue: Int32

    /// It did what was asked and found nothing wrong.
    static let clean = ExitCode(rawValue: 0)
    /// It could not do what was asked.
    static let failed = ExitCode(rawValue: 1)
    /// The store is damaged.
    static let damage = ExitCode(rawValue: 2)
    /// The store was damaged, and nothing of it is lost.
    static let repaired = ExitCode(rawValue: 3)
    /// The store was damaged, and something of it is lost.
    static let lossyRepair = ExitCode(rawValue: 4)
    /// Only a part was taken in: something was left out.
    static let partial = ExitCode(rawValue: 5)
    /// Two stores that were compared differ.
    static let different = ExitCode(rawValue: 6)
    /// The command line was wrong.
    static let usage = ExitCode(rawValue: 64)
}

/// What went wrong, in a sentence or two for the person at the keyboard.
struct Failure: Error {
    let message: String
    var code = ExitCode.failed

    init(_ message: String, code: ExitCode = .failed) {
        self.message = message
        self.code = code
    }
}
