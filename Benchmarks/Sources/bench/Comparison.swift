import Foundation

/// Runs all contestants over one history, each in its own process, one after the other.
///
/// A figure counts only while its contestant's answer equals all earlier ones. A different answer invalidates the
/// work's figures of all contestants.
final class Comparison {
    private let settings: Settings
    private let interruption: Interruption
    private let file: FigureFile?
    private(set) var figures: [Figure] = []
    private var answers = AnswerBook()
    private var missing: [ContestantName] = []
    private var failed: [ContestantName] = []

    init(_ settings: Settings, _ interruption: Interruption) throws {
        self.settings = settings
        self.interruption = interruption
        file = try settings.json.map { try FigureFile($0) }
    }

    func run() throws {
        for contestant in settings.contestants where !interruption.wasAsked {
            var isSilent = true
            let outcome = try ContestantProcess.run(settings, contestant, interruption) {
                isSilent = false
                try receive($0)
            }
            switch outcome {
            case .finished:
                if isSilent, !contestant.works.isDisjoint(with: settings.only) { missing.append(contestant) }
            case .missing: missing.append(contestant)
            case .failed: failed.append(contestant)
            case .stopped: break
            }
        }
        try file?.close()
    }

    func receive(_ report: Report) throws {
        switch report {
        case .answer(let answer):
            let known = answers.differing
            answers.add(answer)
            guard answers.differing != known else { return }
            Session.note("\(answer.contestant) answers \(answer.work) otherwise: no time of it counts", settings)
            figures.removeAll { !counts($0) }
            try file?.replace(with: figures)
        case .measurement(let figure):
            guard counts(figure) else { return }
            figures.append(figure)
            Session.note("\(figure.contestant) \(figure.samples): \(figure.work) = \(Table.brief(figure))", settings)
            try file?.add([figure])
        }
    }

    /// A time counts only if the answers agree.
    private func counts(_ figure: Figure) -> Bool {
        !answers.differing.contains { figure.work == $0 || figure.work.hasPrefix($0 + ".") }
    }

    /// The reasons why the figures are not those of a complete run with equal answers.
    var flaws: [String] {
        var flaws: [String] = []
        if interruption.wasAsked { flaws.append("the run was stopped before its end") }
        if !failed.isEmpty { flaws.append("failed: \(failed.map(\.rawValue).joined(separator: ", "))") }
        let differing = answers.differing
        if !differing.isEmpty { flaws.append("answers differ, so no time counts: \(differing.sorted())") }
        return flaws
    }

    /// - Parameter plain: the figures of profile `plain` in the same run.
    func table(colours: Bool, plain: [Figure] = []) -> Table {
        Table(figures, settings, missing: missing.map(\.rawValue), flaws: flaws, colours: colours, plain: plain)
    }
}

/// The digests of all answers, by work.
struct AnswerBook {
    private var digests: [String: Set<String>] = [:]

    /// Adds an answer. `#` marks a part of a work: slow contestants answer only the first questions.
    mutating func add(_ answer: Answer) { digests[answer.work, default: []].insert(answer.digest) }

    /// The works whose answers differ between contestants.
    var differing: Set<String> {
        Set(digests.filter { $0.value.count > 1 }.keys.map { String($0.split(separator: "#")[0]) })
    }
}
