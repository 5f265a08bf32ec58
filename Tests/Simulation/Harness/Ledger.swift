import HealthKVSync

/// The history of each sample and its possible final states, kept as the judge's only memory. Every save has a unique
/// value, so that a value identifies its save.
struct Ledger {
    struct Act {
        enum Kind: Equatable {
            case save(Int)
            case delete
        }
        let kind: Kind
        /// The index of the save that this act changed.
        let parent: Int?
        /// For a deletion in a store, the deleted version and the clock of the deletion: a tombstone with less belongs
        /// to another deletion.
        var version: Int64 = 0
        var clock = ChangeClock.unknown
        /// Whether the act may have been lost with a store that was removed or restored.
        var mayBeLost = false
    }

    struct Entry {
        let type: SampleType
        let start: Instant
        /// The part of the world in which the sample was written. Concurrent edits that HealthKit cannot order are made
        /// only there.
        let home: Int
        var acts: [Act] = []
        /// Whether a deletion was forgotten before every store had read it: then the sample may legitimately live or be
        /// gone.
        var isUnknowable = false

        func act(of value: Int) -> Int? { acts.firstIndex { $0.kind == .save(value) } }

        /// The act and all acts that it builds on.
        func line(of act: Int) -> Set<Int> {
            var line: Set<Int> = []
            var next: Int? = act
            while let index = next, line.insert(index).inserted { next = acts[index].parent }
            return line
        }

        /// The possible final states: acts that no certain act builds on.
        var possible: (values: Set<Int>, mayBeGone: Bool) {
            var covered: Set<Int> = []
            for index in acts.indices where !acts[index].mayBeLost {
                covered.formUnion(line(of: index).subtracting([index]))
            }
            var values: Set<Int> = []
            var mayBeGone = acts.allSatisfy(\.mayBeLost) || isUnknowable
            for index in acts.indices where !covered.contains(index) {
                switch acts[index].kind {
                case .save(let value): values.insert(value)
                case .delete: mayBeGone = true
                }
            }
            return (values, mayBeGone)
        }
    }

    private(set) var entries: [SampleID: Entry] = [:]
    /// The ids in the order of writing, so that a seed always draws the same ids.
    private(set) var ids: [SampleID] = []
    private var last = 0

    /// Returns a value that no save has used before.
    mutating func newValue() -> Int {
        last += 1
        return last
    }

    mutating func save(_ id: SampleID, _ value: Int, new: @autoclosure () -> Entry, upon parent: Int?) {
        if entries[id] == nil {
            entries[id] = new()
            ids.append(id)
        }
        let act = parent.flatMap { entries[id]!.act(of: $0) }
        entries[id]!.acts.append(Act(kind: .save(value), parent: act))
    }

    mutating func delete(_ id: SampleID, value: Int, version: Int64, _ clock: ChangeClock = .unknown) {
        guard let parent = entries[id]?.act(of: value) else { return }
        entries[id]!.acts.append(Act(kind: .delete, parent: parent, version: version, clock: clock))
    }

    mutating func delete(_ id: SampleID, value: Int, by deletion: DeletedSample?) {
        delete(id, value: value, version: deletion?.version ?? 0, deletion?.modified ?? .unknown)
    }

    mutating func markUnknowable(_ id: SampleID) { entries[id]?.isUnknowable = true }

    /// Notes that a store is gone. All acts may be lost that are held nowhere else, except deletions that other stores
    /// know.
    mutating func lose(held: [SampleID: Set<Int>], deleted: [SampleID: DeletedSample]) {
        for id in ids {
            let entry = entries[id]!
            var safe: Set<Int> = []
            for value in held[id] ?? [] { if let act = entry.act(of: value) { safe.formUnion(entry.line(of: act)) } }
            for index in entry.acts.indices where !safe.contains(index) {
                let act = entry.acts[index]
                if act.kind == .delete, let known = deleted[id],
                    (known.version, known.modified) >= (act.version, act.clock)
                {
                    continue
                }
                entries[id]!.acts[index].mayBeLost = true
            }
        }
    }
}
