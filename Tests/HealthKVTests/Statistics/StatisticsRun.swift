import Foundation
import Testing
import TestSupport

@testable import HealthKV

/// One random history in a store and in an array, with queries that both must answer alike.
final class StatisticsRun {
    /// Zones with an instant near which days are not ordinary, in seconds since 2001.
    static let places: [(zone: String, instants: [Int64])] = [
        ("America/New_York", [731_746_800, 752_306_400, 700_000_000]),
        ("Europe/London", [733_536_000, 751_593_600]),
        ("Asia/Kolkata", [700_000_000]),
        ("Asia/Kathmandu", [-473_367_600, 700_000_000]),
        ("Australia/Lord_Howe", [734_112_000, 749_836_800]),
        ("Pacific/Apia", [346_932_000]),
        ("Africa/Casablanca", [731_728_800, 734_752_800]),
    ]
    static let types: [SampleType] = [.stepCount, .dietaryWater, .bodyMass]
    private static let hour: Int64 = 3_600_000_000_000

    let store: SampleStore
    let clock = TestClock()
    var random: SeededGenerator
    let calendarOracle: CalendarOracle
    var calendar: Calendar { calendarOracle.calendar }
    let middle: Int64
    var samples: [SampleType: [OracleSample]] = [:]
    /// In the order in which the store met them.
    var seen: [SourceIdentity] = []
    var orders: [SampleType: [RankedSource]] = [:]
    private var changes = 0
    private(set) var log: [String] = []
    /// Turned on to see that the oracle would notice: the ranks are then the wrong way round.
    var reversesRanks = false

    static let sources = [
        Source(bundle: "com.apple.health.watch", name: "Watch", product: "Watch7,1"),
        Source(bundle: "com.apple.health.phone", name: "Phone", product: "iPhone17,1"),
        Source(bundle: "com.example.a", name: "App A"), Source(bundle: "com.example.b", name: "App B"),
    ]

    init(seed: UInt64) throws {
        random = SeededGenerator(seed: seed)
        let place = random.pick(Self.places)
        var calendar = Calendar(
            identifier: random.pick([.gregorian, .gregorian, .gregorian, .iso8601, .buddhist, .hebrew, .islamicCivil]))
        calendar.timeZone = TimeZone(identifier: place.zone)!
        if calendar.identifier != .iso8601 { calendar.firstWeekday = random.number(1..<8) }
        calendarOracle = CalendarOracle(calendar: calendar)
        middle = random.pick(place.instants) * 1_000_000_000
        var options = SampleStore.Options()
        let clock = clock
        options.clock = { clock.now }
        options.limits.skipsSync = true
        options.limits.chunkBytes = random.pick([420, 700, 4_080])
        options.limits.chunksPerStep = 1
        options.limits.removedAtOnce = 3
        options.limits.thinSamples = random.pick([0, 3, 20, 64])
        options.limits.coarseSamples = random.pick([0, 10, 40, 1_024])
        options.limits.summaryRowsAtOnce = random.pick([1, 40, 10_000])
        options.maintainsWhenIdle = false
        store = try SampleStore.temporary(options: options)
        log.append("\(place.zone) \(calendar.identifier) \(middle)")
    }

    // MARK: writing

    /// Changes something, and demands that who follows a query is told of it where that changes the answer.
    func step() throws {
        var query = randomQuery(random.pick(Self.types))
        if query.type != .bodyMass, random.chance(0.3) { query.options = CumulativeOptions(borders: .strictStart) }
        let before = try follow(query)
        try takeStep()
        let after = try follow(query)
        guard before.order == after.order, !isSame(before.answer, after.answer) else { return }
        guard
            try store.read({
                try TouchingChanges.touch([query.type: query.touchedRange], since: before.token, in: $0.snapshot)
            })
        else {
            throw StatisticsMismatch(description: "an answer changed and nobody is told: \(query)")
        }
    }

    private func follow(
        _ query: StatisticsQuery
    ) throws -> (answer: StatisticsCollection, order: [RankedSource], token: ChangeToken) {
        try store.read { txn in
            (try txn.statistics(query), try txn.rankedSources(of: query.type), ChangeLog.currentToken(in: txn.snapshot))
        }
    }

    /// Sums of summaries and of samples may differ in the last bits.
    private func isSame(_ one: StatisticsCollection, _ other: StatisticsCollection) -> Bool {
        one.count == other.count
            && zip(one, other).allSatisfy { one, other in
                func isNear(_ one: Double?, _ other: Double?) -> Bool {
                    one == other || abs((one ?? 0) - (other ?? 0)) <= 1e-9 * abs(one ?? 0)
                }
                return (one.start, one.count, one.earliest, one.latest, one.duration)
                    == (other.start, other.count, other.earliest, other.latest, other.duration)
                    && isNear(one.sum, other.sum) && isNear(one.average, other.average)
                    && one.minimum == other.minimum && one.maximum == other.maximum
            }
    }

    func note(_ text: String) { log.append(text) }

    private func takeStep() throws {
        clock.advance(by: 1_000_000_000)
        switch random.number(0..<24) {
        case 0..<9: try saveSome()
        case 9..<11: try importSome()
        case 11..<14: try editOne()
        case 14..<16: try deleteOne()
        case 16: try deleteRange()
        case 17: if random.chance(0.3) { try deleteSource() }
        case 18: try setPriority()
        default: try store.maintain(budget: .milliseconds(random.number(0..<3)))
        }
    }

    private func instant() -> Int64 {
        let span = Int64.random(in: -8 * 24 * Self.hour...8 * 24 * Self.hour, using: &random)
        let time = middle + span
        let grids: [Int64] = [1, 1_000_000_000, 60_000_000_000, 900_000_000_000, Self.hour]
        let grid = random.pick(grids)
        return time / grid * grid
    }

    private func newSample() -> Sample {
        let type = random.pick(Self.types)
        let start = instant()
        let length: Int64 =
            switch random.number(0..<12) {
            case 0..<2: 0
            case 2..<7: Int64.random(in: 1...3_600, using: &random) * 1_000_000_000
            case 7: Self.hour
            case 8: Int64.random(in: 1...20 * Self.hour, using: &random)
            case 9: Int64.random(in: 1...5 * 24, using: &random) * Self.hour
            case 10: Int64.random(in: 1...40 * 24, using: &random) * Self.hour
            default: 24 * Self.hour
            }
        let isOpen = random.chance(0.02)
        let unit: HealthUnit =
            type == .bodyMass ? .kilogram : type == .dietaryWater ? .milliliter : .count
        let value = random.chance(0.5) ? Double(random.number(0..<2_000)) : Double.random(in: 0...500, using: &random)
        return Sample(
            type, value, unit, from: Instant(nanoseconds: start),
            to: isOpen ? .distantFuture : Instant(nanoseconds: start + (type == .bodyMass ? 0 : length)),
            source: random.pick(Self.sources), id: SampleID(using: &random), isUserEntered: random.chance(0.15))
    }

    func keep(_ sample: Sample) {
        changes += 1
        if !seen.contains(sample.source.identity) { seen.append(sample.source.identity) }
        samples[sample.type, default: []].removeAll { $0.sample.id == sample.id }
        samples[sample.type, default: []].append(OracleSample(sample: sample, changed: changes))
    }

    func newSamples() -> [Sample] { (0..<random.number(1..<5)).map { _ in newSample() } }

    private func saveSome() throws {
        let new = newSamples()
        try store.write { txn in for sample in new { try txn.save(sample) } }
        new.forEach(keep)
        log.append("saved \(new.count)")
    }

    private func importSome() throws {
        var batch = SampleBatch()
        var new: [Sample] = []
        for _ in 0..<random.number(1..<40) {
            let sample = newSample()
            // Equal clocks of a batch would leave shadows to the ranks, which a test of their own has.
            if new.contains(where: { $0.type == sample.type && $0.start == sample.start && $0.end == sample.end }) {
                continue
            }
            new.append(sample)
            batch.append(sample)
        }
        let imported = batch
        try store.importBatch(imported)
        // Kinds, and with them sources, are met in the order of the batch.
        new.forEach(keep)
        log.append("imported \(new.count)")
    }

    private func anySample() -> OracleSample? {
        let type = random.pick(Self.types)
        return samples[type]?.randomElement(using: &random)
    }

    private func editOne() throws {
        guard var sample = anySample()?.sample else { return }
        if random.chance(0.6) { sample.quantity.value = Double(random.number(0..<3_000)) + 0.5 }
        if random.chance(0.4) {
            let length = sample.isOpenEnded ? 0 : sample.end.nanoseconds - sample.start.nanoseconds
            sample.start = Instant(nanoseconds: instant())
            sample.end = sample.start + length
        } else if random.chance(0.3), !sample.isOpenEnded {
            // Shorter or longer, perhaps of another duration class.
            let length = sample.end.nanoseconds - sample.start.nanoseconds
            sample.end = sample.start + (random.chance(0.7) ? length / Int64(random.number(2..<30)) : length * 3)
        }
        let edited = sample
        if try store.save(edited) == .replaced { keep(edited) }
        log.append("edited \(edited.id)")
    }

    private func deleteOne() throws {
        guard let sample = anySample()?.sample else { return }
        let isDeleted = try store.write { try $0.delete(id: sample.id) }
        #expect(isDeleted)
        samples[sample.type]!.removeAll { $0.sample.id == sample.id }
        log.append("deleted \(sample.id)")
    }

    private func deleteRange() throws {
        let type = random.pick(Self.types)
        let from = instant()
        let to = from + Int64(random.number(1..<30)) * Self.hour
        try store.write { txn in
            _ = try txn.delete(.range(of: type, from: Instant(nanoseconds: from), to: Instant(nanoseconds: to)))
        }
        samples[type]?.removeAll { $0.start >= from && $0.start < to }
        log.append("deleted \(type) from \(from) to \(to)")
    }

    private func deleteSource() throws {
        let source = random.pick(Self.sources).identity
        try store.write { _ = try $0.purge(.source(source)) }
        for type in samples.keys { samples[type]!.removeAll { $0.source == source } }
        log.append("purged \(source.name)")
    }

    private func setPriority() throws {
        let type = random.pick(Self.types)
        let order: [RankedSource]? =
            random.chance(0.2)
            ? nil
            : Self.sources.shuffled(using: &random).prefix(random.number(1..<5)).map {
                RankedSource($0.identity, isUserEntered: random.chance(0.3) ? random.chance(0.5) : nil)
            }
        try store.write { try $0.setPriority(order, of: type) }
        orders[type] = order
        log.append("priority of \(type): \(order.map { $0.map(\.source.name) } ?? [])")
    }

    // MARK: what the rules say

    /// The samples of a type without those that another at the same time shadows.
    func visible(_ type: SampleType) -> [OracleSample] {
        let all = samples[type] ?? []
        guard type.shadowsDuplicates else { return all }
        return all.filter { sample in
            !all.contains {
                $0.sample.start == sample.sample.start && $0.sample.end == sample.sample.end
                    && $0.changed > sample.changed
            }
        }
    }

    func rank(_ type: SampleType, _ order: [RankedSource]?) -> (SourceIdentity, Bool) -> Int {
        let order = order ?? orders[type] ?? []
        var classes: [(source: SourceIdentity, entered: Bool, key: [Int])] = []
        for (place, source) in seen.enumerated() {
            let kind = Self.sources.first { $0.identity == source }!.product?.prefix(1)
            for entered in [true, false] {
                let listed = order.firstIndex {
                    $0.source == source && ($0.isUserEntered == nil || $0.isUserEntered == entered)
                }
                let standard = entered ? 0 : kind == "W" ? 1 : kind == "i" ? 2 : 3
                classes.append(
                    (source, entered, listed.map { [0, $0, entered ? 0 : 1] } ?? [1, standard, -place]))
            }
        }
        let sorted = classes.sorted { $0.key.lexicographicallyPrecedes($1.key) }
        let reverses = reversesRanks
        return { source, entered in
            let rank = sorted.firstIndex { $0.source == source && $0.entered == entered } ?? .max
            return reverses ? -rank : rank
        }
    }
}

extension StatisticsRun {
    /// Changes one hour of one summary behind everybody's back; answers false when there is none.
    func damageSummary() throws -> Bool {
        var isPlanted = false
        try store.core.transact { txn in
            for type in try SummaryTable.summarizedTypes(in: txn.snapshot) {
                guard let aggregation = try HourSums.summarizedAggregation(of: type, in: txn.snapshot), !isPlanted
                else { continue }
                for block in try SummaryTable.summarizedBlocks(type, in: txn.snapshot) where !isPlanted {
                    var content = try SummaryTable.summary(type, block, aggregation, in: txn.snapshot)!
                    guard let hour = content.hours.firstIndex(where: { $0.count > 0 }) else { continue }
                    content.hours[hour].count += 1
                    let key = SummaryTable.key(type, block)
                    try txn.put(
                        .summaries, key,
                        content.value(key: key, block: block, aggregation, stamp: txn.stamp))
                    isPlanted = true
                }
            }
        }
        return isPlanted
    }
}
