import Foundation
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
            Questions.askForSync(transaction, ask)
            ask("source counts") { $0.combine(try transaction.sourceCounts()) }
            ask("shadowing") { $0.combine(try transaction.shadowing()) }
            ask("deletions") { hasher in
                var page = try transaction.deletions(limit: 100)
                hasher.combine(page.deletions)
                while let next = page.next {
                    page = try transaction.deletions(after: next, limit: 100)
                    hasher.combine(page.deletions)
                }
            }
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
        ask("first of \(name)") { $0.combine(try transaction.first(of: type)) }
        ask("window of \(name)") { hasher in
            let (from, to) = (Vocabulary.middle - 20 * day, Vocabulary.middle + 20 * day)
            hasher.combine(try transaction.samples(of: type, from: from, to: to, order: .descending, limit: 30))
            hasher.combine(try transaction.count(of: type, from: from, to: to))
        }
        ask("fold of \(name)") { hasher in
            hasher = try transaction.fold(type, into: hasher) { hasher, times, values in
                for index in times.indices {
                    hasher.combine(times[index])
                    hasher.combine(values[index])
                }
            }
        }
        askForStatistics(type, transaction, ask)
    }

    private static let day: Int64 = 86_400 * Instant.nanosecondsPerSecond
    private static let calendar: Calendar = {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = TimeZone(identifier: "UTC")!
        return calendar
    }()

    private static func askForStatistics(
        _ type: SampleType, _ transaction: borrowing ReadTransaction,
        _ ask: (String, (inout Hasher) throws -> Void) -> Void
    ) {
        let name = type.shortName
        ask("statistics of \(name)") { $0.combine(try transaction.statistics(of: type)) }
        let (from, to) = (Vocabulary.middle - 120 * day, Vocabulary.middle + 120 * day)
        ask("days of \(name)") { hasher in
            for bucket in try transaction.statistics(type, by: .day, from: from, to: to, calendar: calendar) {
                hasher.combine(bucket)
            }
        }
        ask("sources of \(name)") { hasher in
            let query = StatisticsQuery(type, by: .month, from: from, to: to, calendar: calendar)
            for (source, buckets) in try transaction.statisticsBySource(query).sorted(by: { "\($0.key)" < "\($1.key)" })
            {
                hasher.combine(source)
                for bucket in buckets { hasher.combine(bucket) }
            }
        }
        ask("ranks of \(name)") { $0.combine(try transaction.rankedSources(of: type)) }
        ask("totals of \(name)") { $0.combine(try transaction.totals(of: type, peer: "peer")) }
    }

    private static func askForSync(
        _ transaction: borrowing ReadTransaction, _ ask: (String, (inout Hasher) throws -> Void) -> Void
    ) {
        ask("peers") { $0.combine(try transaction.peers()) }
        ask("anchors") { $0.combine(try transaction.anchors()) }
        ask("pending") { $0.combine(try transaction.pending()) }
        ask("links") { $0.combine(try transaction.links(of: "peer")) }
        ask("note") { $0.combine(try transaction.syncNote("peer")) }
        ask("audit") { $0.combine(try transaction.audit().map { "\($0)" }) }
    }
}
