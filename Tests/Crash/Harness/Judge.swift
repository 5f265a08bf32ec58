import Foundation
import HealthKV
import TestSupport

/// The kind of failure of a store after a crash.
enum Loss: String, Sendable, CaseIterable {
    /// The store does not open or cannot be read, or acknowledged changes are missing.
    case lost
    /// The store holds part of a transaction, or its tables contradict each other.
    case half
    /// The store does not accept and return a new sample.
    case unwritable
}

struct Verdict: Error, CustomStringConvertible {
    let loss: Loss
    let detail: String
    var description: String { "\(loss.rawValue): \(detail)" }
}

/// Opens a store after a crash as an app would, and demands everything that was promised.
struct Judge {
    let folder: String
    /// The name of an import whose recorded position must match the content.
    var job: String?

    private func attempt<Result>(_ loss: Loss, _ what: String, _ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let verdict as Verdict {
            throw verdict
        } catch {
            throw Verdict(loss: loss, detail: "\(what): \(error)")
        }
    }

    /// Throws a verdict unless the store is sound and its content is legal. Returns the content.
    @discardableResult
    func judge(_ history: History, probe: Sample) throws -> ContentDigest {
        var options = Vocabulary.options(maintains: false)
        // If opening was acknowledged, the store must exist.
        options.createIfMissing = history.acknowledged < 0 && history.before.count == 0
        let store = try attempt(.lost, "opening") { try SampleStore.open(at: folder, options: options) }
        do {
            var known: Sample?
            let content = try attempt(.lost, "reading") {
                try store.read { try $0.content { if known == nil || $0.id.low < known!.id.low { known = $0 } } }
            }
            if !history.legal.contains(content) {
                throw Verdict(
                    loss: history.contents.contains(content) ? .lost : .half, detail: history.describe(content))
            }
            try attempt(.half, "reading by index and counts") { try compare(store, content, known) }
            try attempt(.half, "comparing with what was written along") { try compareMarks(store, content, history) }
            try attempt(.half, "checking") { try check(store) }
            try attempt(.unwritable, "writing") { try write(probe, store, content) }
            try attempt(.unwritable, "closing") { try store.close() }
            if probe.id.low % 8 == 0 { try attempt(.unwritable, "opening again") { try reopen(options, content) } }
            return content
        } catch {
            try? store.close()
            throw error
        }
    }

    private func compare(_ store: SampleStore, _ content: ContentDigest, _ known: Sample?) throws {
        try store.read { transaction in
            guard try transaction.count() == content.count else {
                throw Mismatch("count", store: "another", model: "\(content)")
            }
            guard let known else { return }
            guard try transaction.sample(id: known.id) == known else {
                throw Mismatch("id", store: "none", model: "one")
            }
        }
    }

    /// Compares the content with the rows that the same commits wrote to other tables.
    private func compareMarks(_ store: SampleStore, _ content: ContentDigest, _ history: History) throws {
        if let job {
            let position = try store.importPosition(of: job)
            // Only a finished import may have no recorded position.
            let all = history.contents.count - 1
            let fits = position == 0 && history.announced >= all && content == history.contents[all]
            if !fits, history.contents[position] != content {
                throw Mismatch("importPosition", store: position, model: history.contents.firstIndex(of: content) ?? -1)
            }
        } else if let anchor = try store.read({ try $0.anchor(peer: "crash", type: .stepCount) }) {
            guard anchor.token == Worker.anchor(content).token else {
                throw Verdict(loss: .half, detail: "the anchor is not that of the content")
            }
        }
    }

    private func check(_ store: SampleStore) throws {
        let report = try store.check(limit: 5)
        guard report.isClean else {
            let findings = report.findings.map { "\($0.kind) in \($0.table): \($0.detail)" }
            throw Verdict(loss: .half, detail: "the tables do not agree: " + findings.joined(separator: "; "))
        }
    }

    private func write(_ probe: Sample, _ store: SampleStore, _ content: ContentDigest) throws {
        let outcome = try store.write { try $0.save(probe) }
        guard outcome == .inserted else { throw Mismatch("save", store: outcome, model: .inserted) }
        try store.read { transaction in
            guard let found = try transaction.sample(id: probe.id), found.contentBytes == probe.contentBytes,
                try transaction.count() == content.count + 1
            else { throw Mismatch("the new sample", store: "missing", model: "there") }
        }
        guard try store.write({ try $0.delete(id: probe.id) }) else {
            throw Mismatch("delete", store: false, model: true)
        }
    }

    private func reopen(_ options: SampleStore.Options, _ content: ContentDigest) throws {
        let store = try SampleStore.open(at: folder, options: options)
        defer { try? store.close() }
        let found = try store.read { try $0.content() }
        guard found == content else { throw Mismatch("content", store: found, model: content) }
    }

    static func probe(_ generator: inout SeededGenerator) -> Sample {
        Sample(
            .stepCount, 1, .count, at: Vocabulary.instant(&generator), source: Vocabulary.ownSource,
            id: SampleID(using: &generator))
    }
}
