import Foundation

/// A run of all contestants over one history, each in a process of its own, one after the other.
///
/// A figure counts as soon as its contestant's answer is that of all before; one that answers otherwise takes the
/// work's figures back, also those that others have already.
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

    /// A time counts only if the answer was right.
    private func counts(_ figure: Figure) -> Bool {
        !answers.differing.contains { figure.work == $0 || figure.work.hasPrefix($0 + ".") }
    }

    /// Why the figures are not those of a whole run whose answers are equal.
    var flaws: [String] {
        var flaws: [String] = []
        if interruption.wasAsked { flaws.append("the run was stopped before its end") }
        if !failed.isEmpty { flaws.append("failed: \(failed.map(\.rawValue).joined(separator: ", "))") }
        let differing = answers.differing
        if !differing.isEmpty { flaws.append("answers differ, so no time counts: \(differing.sorted())") }
        return flaws
    }

    func table(colours: Bool) -> Table {
        Table(figures, settings, missing: missing.map(\.rawValue), flaws: flaws, colours: colours)
    }
}

/// The digests of all answers, by work.
struct AnswerBook {
    private var digests: [String: Set<String>] = [:]

    /// Adds an answer. A part of one stands behind a `#`: who is slow answers the first questions only.
    mutating func add(_ answer: Answer) { digests[answer.work, default: []].insert(answer.digest) }

    /// The works that not all contestants answered alike.
    var differing: Set<String> {
        Set(digests.filter { $0.value.count > 1 }.keys.map { String($0.split(separator: "#")[0]) })
    }
}
