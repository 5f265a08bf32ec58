import ColumnFormat
import HealthKV

/// What became of each kind of work on one forged file: whether it met errors, and which.
final class ForgedOutcomes {
    /// The kinds of work, in the order of reports.
    enum Step: String, CaseIterable {
        case opening, reading, writing, upkeep, checking, reopening
    }

    private var codes: [Step: Set<String>] = [:]

    /// Runs `body` and notes its error. Returns `nil` if it throws.
    @discardableResult
    func attempt<Result>(_ step: Step, _ body: () throws -> Result) -> Result? {
        if codes[step] == nil { codes[step] = [] }
        do {
            return try body()
        } catch {
            note(step, error)
            return nil
        }
    }

    func note(_ step: Step, _ error: any Error) { codes[step, default: []].insert(ForgedOutcomes.word(error)) }

    /// Notes the findings of a check.
    func note(_ report: CheckReport?) {
        guard let report else { return }
        for finding in report.findings { codes[.checking, default: []].insert(finding.kind.rawValue) }
    }

    /// One word for each step that was taken, such as `reading=damaged,notStored` and `writing=done`.
    var words: [String] {
        Step.allCases.compactMap { step in
            codes[step].map { "\(step.rawValue)=\($0.isEmpty ? "done" : $0.sorted().joined(separator: ","))" }
        }
    }

    private static func word(_ error: any Error) -> String {
        switch error {
        case let error as StoreError:
            error.code == .damaged && error.detail.contains("checksum") ? "checksum" : error.code.rawValue
        case let error as FormatError: error.code == .checksum ? "checksum" : "damaged"
        default: "\(type(of: error))"
        }
    }
}
