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

    /// Whether fields keep their structure, as `load` needs them.
    var isJSON: Bool { self == .json || self == .jsonl }
}

/// Where progress is shown.
enum ProgressMode: String, CaseIterable {
    /// A bar on a terminal, nothing elsewhere.
    case auto
    case bar
    /// One JSON object a line.
    case json
    case none
}

/// What the tool is, and what it promises to those who read its output.
enum ToolVersion {
    /// The version of the tool and of the package that it belongs to.
    static let text = "0.1.0"

    /// The version of what the tool prints as JSON; see the key `kvinspect` of every envelope.
    static let contract: Int64 = 1
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
