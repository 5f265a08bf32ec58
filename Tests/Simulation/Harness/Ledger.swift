import HealthKVSync

/// What the user did to each sample, and what may be left of it in the end: the judge's only memory. Every save has a
/// value of its own, so that a value tells which save it is.
struct Ledger {
    struct Act {
        enum Kind: Equatable {
            case save(Int)
            case delete
        }
        let kind: Kind
        /// The save that it was done to.
        let parent: Int?
        /// The version that a deletion deleted, and when it did where it was made in a store: a tombstone below that is
        /// of another one.
        var version: Int64 = 0
        var clock = ChangeClock.unknown
        /// Whether it may have been lost with a store that was removed or put back.
        var mayBeLost = false
    }

    struct Entry {
        let type: SampleType
        let start: Instant
        /// The part of the world that it was written in: edits that HealthKit cannot put in order are made there only.
        let home: Int
        var acts: [Act] = []
        /// Whether a deletion of it was forgotten before everybody had heard: then nobody can know whether it lives.
        var isUnknowable = false

        func act(of value: Int) -> Int? { acts.firstIndex { $0.kind == .save(value) } }

        /// Acts that an act was done upon, itself among them.
        func line(of act: Int) -> Set<Int> {
            var line: Set<Int> = []
            var next: Int? = act
            while let index = next, line.insert(index).inserted { next = acts[index].parent }
            return line
        }

        /// What may stand in the end: what no act that must be there was done upon.
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
    /// In the order in which they were written, so that a seed picks the same again.
    private(set) var ids: [SampleID] = []
    private var last = 0

    /// A value that nobody saved before.
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

    /// A store is gone, with all that is held nowhere else; of what was deleted, the version that the other stores know
    /// is.
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
