import Foundation
import HealthKV

/// What is wrong with a store after a crash.
enum Loss: String, Sendable, CaseIterable {
    /// It does not open or cannot be read, or what was acknowledged is missing.
    case lost
    /// It holds part of a transaction, or its tables do not agree.
    case half
    /// It does not take a new sample and give it back.
    case unwritable
}

struct Verdict: Error, CustomStringConvertible {
    let loss: Loss
    let detail: String
    var description: String { "\(loss.rawValue): \(detail)" }
}

/// Opens a store after a crash as an app would, and demands what was promised.
struct Judge {
    let folder: String
    /// Whether tables are compared with each other too, which costs most of the time.
    var checks = true

    private func attempt<Result>(_ loss: Loss, _ what: String, _ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let verdict as Verdict {
            throw verdict
        } catch {
            throw Verdict(loss: loss, detail: "\(what): \(error)")
        }
    }

    /// Throws a verdict unless the store is sound and its content is legal. Answers the content.
    @discardableResult
    func judge(_ history: History, probe: Sample) throws -> ContentDigest {
        var options = Vocabulary.options(maintains: false)
        // Once opening was acknowledged the store is there.
        options.createIfMissing = history.acknowledged < 0
        let store = try attempt(.lost, "opening") { try SampleStore.open(at: folder, options: options) }
        do {
            var known: Sample?
            let content = try attempt(.lost, "reading") {
                try store.read { try $0.content { if known == nil || $0.id.low < known!.id.low { known = $0 } } }
            }
            if !history.legal.contains(content) {
                throw Verdict(loss: history.contents.contains(content) ? .lost : .half, detail: history.describe(content))
            }
            try attempt(.half, "reading by index and counts") { try compare(store, content, known) }
            try attempt(.unwritable, "writing") { try write(probe, store, content) }
            try attempt(.unwritable, "closing") { try store.close() }
            return content
        } catch {
            try? store.close()
            throw error
        }
    }

    private func compare(_ store: SampleStore, _ content: ContentDigest, _ known: Sample?) throws {
        try store.read { transaction in
            guard try transaction.count() == content.count else { throw Mismatch("count", store: "another", model: "\(content)") }
            guard let known else { return }
            guard try transaction.sample(id: known.id) == known else { throw Mismatch("id", store: "none", model: "one") }
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

    static func probe(_ generator: inout SeededGenerator) -> Sample {
        Sample(
            .stepCount, 1, .count, at: Vocabulary.instant(&generator), source: Vocabulary.ownSource,
            id: SampleID(using: &generator))
    }
}
