import HealthKV

/// A value that the engine keeps in a note. The file may come from anywhere, so a note may hold what no engine has
/// written: such a note counts as damaged, and the engine starts over without it.
protocol EngineNote: Codable {
    /// Whether an engine can have written the value.
    var isPossible: Bool { get }
}

extension EngineNote {
    var isPossible: Bool { true }
}

extension Sample: EngineNote {}

extension [DeferredDeletion]: EngineNote {}

extension Lease: EngineNote {
    var isPossible: Bool { token < 1 << 62 }
}

extension CheckNote: EngineNote {
    var isPossible: Bool { check?.isPossible ?? true }
}

extension PeerComparison {
    fileprivate var isPossible: Bool {
        [held, openCount, doubtful, known, imported].allSatisfy(isPossibleCount)
    }
}

extension PeerState: EngineNote {
    var isPossible: Bool {
        isPossibleCount(failures) && isPossibleCount(purged) && types.values.allSatisfy(\.isPossible)
    }
}

extension TypeState: EngineNote {
    var isPossible: Bool {
        let failed = [pulls.failure, unacknowledged].compactMap { $0?.count }
        return isPossibleCount(imported) && failed.allSatisfy(isPossibleCount) && waiting.blocks?.isPossible ?? true
            && staleDays.allSatisfy { LocalDays.isOver($0, zone: "UTC", at: .distantFuture) }
    }
}

extension DeferredBlocks {
    fileprivate var isPossible: Bool { first >= 0 && first < next && isPossibleCount(next) }
}

/// Returns `true` if something may have happened as often. Counts stay far from the greatest number.
private func isPossibleCount(_ count: Int) -> Bool { (0...1 << 40).contains(count) }
