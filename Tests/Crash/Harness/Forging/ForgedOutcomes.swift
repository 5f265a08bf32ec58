import ColumnFormat
import HealthKV

/// What became of each kind of work on one forged file: whether it met errors, and which.
final class ForgedOutcomes {
    /// The kinds of work, in the order of reports.
    enum Step: String, CaseIterable {
        case opening, reading, writing, upkeep, checking, closing, reopening, salvaging
    }

    private var codes: [Step: Set<String>] = [:]
    private var times: [Step: Duration] = [:]
    private var last = ProcessorTime.ofProcess

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

    /// Adds the processor time since the previous call to a step.
    func finish(_ step: Step) {
        let now = ProcessorTime.ofProcess
        times[step, default: .zero] += now - last
        last = now
    }

    /// One word for each step that was taken, such as `reading=damaged,notStored`, and one for its time, such as
    /// `reading:912` in microseconds.
    var words: [String] {
        Step.allCases.compactMap { step in
            codes[step].map { "\(step.rawValue)=\($0.isEmpty ? "done" : $0.sorted().joined(separator: ","))" }
        } + times.map { "\($0.rawValue):\(Int($1 / .microseconds(1)))" }
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
