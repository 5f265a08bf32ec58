import Foundation
import HealthKV
import TestSupport

/// A sound store and its states some commits earlier, from which damaged files are made.
struct DamagedBase: Sendable {
    /// The states of the file, newest first.
    let states: [[UInt8]]
    let ids: [SampleID]
    let deleted: [SampleID]
    /// Every state of every sample that a commit left, if it was asked for.
    private(set) var ever: Set<[UInt8]> = []

    static let pageSize = DataPages.size

    /// The content of a base, with its share of the damaged files: small files are read a thousand times a second.
    enum Content: String, CaseIterable {
        /// Only the names of tables; a single sample; some hundreds of every kind, in tables divided like large ones;
        /// some thousands, in chunks of full size.
        case empty, single, mixed, large

        var share: Int {
            switch self {
            case .empty: 5
            case .single: 10
            case .mixed: 83
            case .large: 2
            }
        }
    }

    /// The numbers of commits between the newest state and the older ones.
    private static let ages = [0, 1, 2, 5, 15]

    init(_ content: Content, seed: UInt64, folder: String, remembersAll: Bool = false) throws {
        let path = folder + "/base"
        try? FileManager.default.removeItem(atPath: path)
        defer { try? FileManager.default.removeItem(atPath: path) }
        var options = Vocabulary.options(maintains: false, isMass: content == .large)
        options.idlePeriod = .seconds(1)
        // The states are those of the data file alone.
        options.limits.journaledCommits = 0
        let store = try SampleStore.open(at: path, options: options)
        var model = Model()
        var states: [[UInt8]] = []
        let commits = content == .empty ? 0 : content == .single ? 1 : content == .large ? 4 : 60
        var generator = SeededGenerator(seed: seed, part: content.share)
        for commit in 0...commits {
            if commit > 0 {
                try DamagedBase.change(store, content, commit, seed, &generator, &model)
            }
            states.append(try RawFile.bytes(of: path + "/data.mdb"))
            if remembersAll { ever.formUnion(try RepairBase.samples(in: store).values) }
        }
        let report = try store.check()
        guard report.isClean else { throw Mismatch("check", store: "\(report.findings)", model: "none") }
        try store.close()
        self.states = DamagedBase.ages.filter { $0 < states.count }.map { states[states.count - 1 - $0] }
        ids = (0..<8).compactMap { _ in model.ids.randomElement(using: &generator) }
        deleted = (0..<4).compactMap { _ in model.deleted(near: SampleID(using: &generator))?.id }
    }

    private static func change(
        _ store: SampleStore, _ content: Content, _ commit: Int, _ seed: UInt64, _ generator: inout SeededGenerator,
        _ model: inout Model
    ) throws {
        let before = model
        let own = SeededGenerator(seed: generator.next(), part: commit)
        model = try store.write { transaction in
            var model = before
            var source = OperationSource(generator: own, run: seed, isMass: content == .large)
            if content == .single {
                try Operation.save([Vocabulary.sample(&source.generator, model: model)]).perform(&transaction, &model)
            } else {
                for operation in source.transaction(model) { try operation.perform(&transaction, &model) }
            }
            if content == .large {
                let batch = Vocabulary.derivedBatch(&source.generator, rows: 700, source: Vocabulary.bulkSource)
                try Operation.importBatch(batch).perform(&transaction, &model)
            }
            try transaction.setAnchor(
                Anchor(
                    peer: "peer", type: .stepCount, token: [UInt8(commit)], time: Instant(nanoseconds: Int64(commit))))
            if let id = model.ids.first {
                let idAtPeer = SampleID(using: &source.generator)
                try transaction.setLink(PeerLink(peer: "peer", sample: id, idAtPeer: idAtPeer, version: Int64(commit)))
                if commit % 7 == 0 {
                    _ = try transaction.enqueue(PendingOperation(peer: "peer", kind: .save, sample: id, version: 1))
                }
            }
            try setOthers(commit, in: &transaction)
            return model
        }
        if commit % 9 == 0 { try store.maintain(budget: .milliseconds(5)) }
    }

    /// Changes records that belong to no sample.
    private static func setOthers(_ commit: Int, in transaction: inout WriteTransaction) throws {
        let total = DailyTotal(
            peer: "peer", type: .stepCount, day: "1992-04-0\(1 + commit % 9)", zone: "UTC", value: Double(commit),
            unit: .count, isComplete: true, time: Instant(nanoseconds: Int64(commit)))
        _ = try transaction.setTotal(total)
        try transaction.setSyncNote("peer", [UInt8](repeating: UInt8(commit), count: 1 + commit % 5))
        if commit % 11 == 0 {
            let sources = Vocabulary.sources.dropFirst().map { RankedSource($0.identity) }
            try transaction.setPriority(commit % 2 == 0 ? sources : sources.reversed(), of: .stepCount)
        }
    }
}
