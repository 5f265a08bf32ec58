import Foundation
import HealthKV
import Histories

extension Demo {
    /// Stores ten years, batch by batch, each committed durably.
    mutating func showImport() throws {
        let weights = 3_250
        let total = options.samples + weights
        var (seconds, done, batches, inserted) = (0.0, 0, 0, 0)
        let histories = [History(.plain, samples: options.samples), History(.weight, samples: weights)]
        for history in histories {
            for batch in history {
                let (time, report) = try timed { try store.importBatch(batch) }
                seconds += time
                inserted += report.inserted
                batches += 1
                done += batch.count
                expected.add(batch)
                screen.progress(done, of: total)
            }
        }
        let upkeep = try timed { while try store.maintain(budget: .seconds(1)) {} }.seconds
        expected.sort()
        let count = try store.blockingRead { try $0.count() }
        screen.step(
            "import",
            "\(Show.count(total)) samples in \(Show.time(seconds + upkeep)): \(Show.rate(total, seconds + upkeep)), "
                + "\(batches) durable commits", isRight: inserted == total && count == total)
        let info = try store.info()
        let perSample = Double(info.fileBytes) / Double(total)
        screen.step(
            "size", "\(Show.bytes(info.fileBytes)) on disk, \(String(format: "%.1f", perSample)) bytes a sample")
    }

    /// Edits and deletes some samples, and shows the resulting change feed.
    mutating func showChanges() throws {
        let type = SampleType.stepCount
        let column = expected.columns[type]!
        let stride = max(1, column.ids.count / 300)
        let picked = Swift.stride(from: 0, to: column.ids.count, by: stride).map { $0 }
        let edits = Dictionary(
            uniqueKeysWithValues: picked.filter { $0 / stride % 3 != 0 }.map { (column.ids[$0], column.values[$0] + 1) }
        )
        let deletions = Set(picked.filter { $0 / stride % 3 == 0 }.map { column.ids[$0] })
        let token = try store.blockingRead { $0.currentToken }
        let editing = try timed {
            try store.write { txn in
                for (id, value) in edits {
                    guard var sample = try txn.sample(id: id) else { throw DemoFailure("a sample is missing") }
                    sample.quantity.value = value
                    try txn.save(sample)
                }
            }
        }.seconds
        screen.step("edit", "\(edits.count) samples all over the history in one transaction, \(Show.time(editing))")
        let (deleting, removed) = try timed {
            try store.write { txn in
                var removed = 0
                for id in deletions where try txn.delete(id: id) { removed += 1 }
                return removed
            }
        }
        expected.change(edits, of: type)
        expected.remove(deletions, of: type)
        let left = try store.blockingRead { try ($0.count(), $0.series(type)) }
        screen.step(
            "delete", "\(removed) samples in one transaction, \(Show.time(deleting))",
            isRight: removed == deletions.count && left.0 == expected.samples
                && left.1.values == expected.columns[type]!.values)
        try showFeed(since: token, edits, deletions)
        try showOneWrite()
    }

    private mutating func showFeed(
        since token: ChangeToken, _ edits: [SampleID: Double], _ deletions: Set<SampleID>
    ) throws {
        var token = token
        var (saved, deleted): ([SampleID: Double], Set<SampleID>) = ([:], [])
        var (pages, seconds) = (0, 0.0)
        while true {
            let (time, page) = try timed { try store.blockingRead { try $0.changes(since: token, limit: 200) } }
            seconds += time
            pages += 1
            for change in page.changes {
                switch change.kind {
                case .saved(let sample): saved[sample.id] = sample.quantity.value
                case .deleted(let sample): deleted.insert(sample.id)
                default: break
                }
            }
            token = page.next
            if !page.hasMore { break }
        }
        screen.step(
            "change feed",
            "\(saved.count) edits and \(deleted.count) deletions since the token, \(pages) pages, \(Show.time(seconds))",
            isRight: saved == edits && deleted == deletions)
    }

    /// Saves a current weight, which is durable when the call returns.
    private mutating func showOneWrite() throws {
        let before = try store.blockingRead { try $0.latest(of: .bodyMass) }
        let sample = Sample(.bodyMass, 77.7, .kilogram, at: History.end, isUserEntered: true)
        let seconds = try timed { try store.write { txn in try txn.save(sample) } }.seconds
        let after = try store.blockingRead { try $0.latest(of: .bodyMass) }
        let removed = try store.write { try $0.delete(id: sample.id) }
        let restored = try store.blockingRead { try $0.latest(of: .bodyMass) }
        screen.step(
            "one weighing", "durable in \(Show.time(seconds)), then deleted again",
            isRight: after?.id == sample.id && removed && restored?.id == before?.id)
    }
}
