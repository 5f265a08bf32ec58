import HealthKV

/// Queries that cover the whole public interface for reading. Each answer is a hash, valid only in this process.
struct Questions: Sendable {
    private let ids: [SampleID]
    private let deleted: [SampleID]

    /// - Parameters:
    ///   - ids: samples in the store.
    ///   - deleted: deleted samples.
    init(ids: [SampleID], deleted: [SampleID]) {
        (self.ids, self.deleted) = (ids, deleted)
    }

    /// The answers by name; `nil` where the store threw an error.
    func ask(_ store: SampleStore) throws -> [String: Int?] {
        try store.read { transaction in
            var answers: [String: Int?] = [:]
            func ask(_ name: String, _ body: (inout Hasher) throws -> Void) {
                var hasher = Hasher()
                do {
                    try body(&hasher)
                    answers[name] = hasher.finalize()
                } catch {
                    answers[name] = .some(nil)
                }
            }
            for type in Vocabulary.types { Questions.askForType(type, transaction, ask) }
            ask("count") { $0.combine(try transaction.count()) }
            ask("types") { $0.combine(try transaction.types()) }
            ask("sources") { $0.combine(try transaction.sources()) }
            ask("changes") { hasher in
                var page = try transaction.changes(since: nil, limit: 10_000)
                hasher.combine(page.changes)
                while page.hasMore {
                    page = try transaction.changes(since: page.next, limit: 10_000)
                    hasher.combine(page.changes)
                }
            }
            ask("peers") { $0.combine(try transaction.peers()) }
            ask("anchors") { $0.combine(try transaction.anchors()) }
            ask("pending") { $0.combine(try transaction.pending()) }
            for id in ids { ask("id \(id)") { $0.combine(try transaction.sample(id: id)) } }
            for id in deleted {
                ask("deleted \(id)") { $0.combine(try transaction.deletedSample(id: id)) }
                ask("id \(id)") { $0.combine(try transaction.sample(id: id)) }
            }
            ask("sync identifier") { $0.combine(try transaction.samples(syncIdentifier: "app.log.1")) }
            ask("group") { $0.combine(try transaction.samples(group: "meal.3")) }
            return answers
        }
    }

    private static func askForType(
        _ type: SampleType, _ transaction: borrowing ReadTransaction,
        _ ask: (String, (inout Hasher) throws -> Void) -> Void
    ) {
        let name = type.shortName
        ask("samples of \(name)") { $0.combine(try transaction.samples(SampleQuery(type, includeShadowed: true))) }
        ask("series of \(name)") { hasher in
            let series = try transaction.series(type)
            hasher.combine(series.times)
            hasher.combine(series.values)
            hasher.combine(series.unit)
        }
        ask("count of \(name)") { $0.combine(try transaction.count(of: type)) }
        ask("latest of \(name)") { $0.combine(try transaction.latest(of: type)) }
    }
}
