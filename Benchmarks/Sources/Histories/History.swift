import HealthKV

extension Instant {
    /// Returns the instant `nanoseconds` later.
    public static func + (left: Instant, nanoseconds: Int64) -> Instant {
        Instant(nanoseconds: left.nanoseconds + nanoseconds)
    }

    /// Returns the instant `nanoseconds` earlier.
    public static func - (left: Instant, nanoseconds: Int64) -> Instant { left + -nanoseconds }
}

/// A generated history of health samples: the same settings give the same samples in every run on every machine.
///
/// It is a stream of batches in chronological order over all types, as an import would deliver it, and never holds more
/// than one batch (and one day, for ``Profile/life``).
///
/// ```swift
/// for batch in History(.plain, samples: 1_000_000) { try store.importBatch(batch) }
/// ```
public struct History: Sequence, Sendable {
    public enum Profile: String, Sendable, CaseIterable {
        /// Three cumulative types at irregular times: steps, distance and active energy.
        case plain
        /// Body weights, one a day with gaps: some in pounds, some with sync identifiers.
        case weight
        /// Realistic data of a person: walks that phone and watch both count, workouts, weights and meals.
        case life
    }

    public let profile: Profile
    public let samples: Int
    public let seed: UInt64
    public let batchRows: Int
    /// Whether samples have UUIDs; without them, identity is derived from content.
    public let hasIDs: Bool

    /// - Parameter samples: the number of samples, at most one per second and type.
    public init(_ profile: Profile, samples: Int, seed: UInt64 = 1, batchRows: Int = 50_000, hasIDs: Bool = true) {
        precondition(samples >= 0 && samples <= 300_000_000, "a history has at most 300 million samples")
        precondition(batchRows > 0, "a batch has at least one row")
        self.profile = profile
        self.samples = samples
        self.seed = seed
        self.batchRows = batchRows
        self.hasIDs = hasIDs
    }

    /// The types of the history, in a fixed order.
    public var types: [SampleType] {
        switch profile {
        case .plain: PlainRows.types
        case .weight: [.bodyMass]
        case .life: LifeRows.types
        }
    }

    /// The start of every history: 2015-01-01 00:00:00 UTC.
    public static let start = Instant(nanoseconds: 5_113 * History.day)

    /// Ten years in days, up to 2025-01-01.
    public static let days = 3_653

    /// The end of every history, except for the last gap.
    public static let end = start + Int64(days) * day

    /// A day in nanoseconds.
    public static let day: Int64 = 86_400 * Instant.nanosecondsPerSecond

    /// The days that have samples, counted from ``start``. Short histories of profiles `life` and `weight` cover fewer
    /// than ten years.
    public var dayRange: Range<Int> {
        switch profile {
        case .plain: 0..<History.days
        case .weight: 0..<Swift.min(History.days, samples * 10 / 9 + 2)
        case .life: History.days - LifeRows.days(samples)..<History.days
        }
    }

    public func makeIterator() -> Batches { Batches(of: self) }

    /// The batches of one history, generated on request.
    public struct Batches: IteratorProtocol {
        private enum Rows {
            case plain(PlainRows)
            case weight(WeightRows)
            case life(LifeRows)
        }

        private var rows: Rows
        private var remaining: Int
        private let batchRows: Int
        private var ids: SplitMix64?

        init(of history: History) {
            rows =
                switch history.profile {
                case .plain: .plain(PlainRows(samples: history.samples, seed: history.seed))
                case .weight: .weight(WeightRows(samples: history.samples, seed: history.seed))
                case .life: .life(LifeRows(samples: history.samples, seed: history.seed))
                }
            remaining = history.samples
            batchRows = history.batchRows
            // A random stream for each profile, so that histories of one seed can be imported into one store.
            let stream = 100 + UInt64(Profile.allCases.firstIndex(of: history.profile)!)
            ids = history.hasIDs ? SplitMix64(seed: history.seed, stream: stream) : nil
        }

        public mutating func next() -> SampleBatch? {
            guard remaining > 0 else { return nil }
            var writer = BatchWriter(ids: ids)
            let count = Swift.min(remaining, batchRows)
            switch rows {
            case .plain(var plain):
                plain.write(count, to: &writer)
                rows = .plain(plain)
            case .weight(var weight):
                weight.write(count, to: &writer)
                rows = .weight(weight)
            case .life(var life):
                life.write(count, to: &writer)
                rows = .life(life)
            }
            remaining -= count
            ids = writer.ids
            return writer.batch
        }
    }
}

/// Fills one batch, with ids or without.
struct BatchWriter {
    private(set) var batch = SampleBatch()
    private(set) var ids: SplitMix64?

    init(ids: SplitMix64?) { self.ids = ids }

    mutating func kind(
        _ type: SampleType, _ unit: HealthUnit, _ source: Source, origin: Sample.Origin = .imported,
        isUserEntered: Bool = false
    ) -> Int {
        batch.kind(type, unit, source: source, origin: origin, isUserEntered: isUserEntered)
    }

    mutating func append(kind: Int, start: Int64, end: Int64, value: Double) {
        let (start, end) = (Instant(nanoseconds: start), Instant(nanoseconds: end))
        if ids != nil {
            batch.append(kind: kind, start: start, end: end, value: value, id: SampleID(using: &ids!))
        } else {
            batch.append(kind: kind, start: start, end: end, value: value)
        }
    }

    /// Sets the rare fields of the last appended row.
    mutating func setExtras(_ extras: SampleBatch.Extras) { batch.setExtras(extras, row: batch.count - 1) }
}

/// The apps and devices in histories.
enum Sources {
    static let phone = Source(
        bundle: "com.apple.health.phone", name: "Phone", version: "18.1", product: "iPhone17,1", system: "18.1")
    static let watch = Source(
        bundle: "com.apple.health.watch", name: "Watch", version: "11.1", product: "Watch7,2", system: "11.1")
    static let pedometer = Source(bundle: "app.example.pedometer", name: "Pedometer", version: "4.2")
    static let scale = Source(bundle: "app.example.scale", name: "Scale", version: "2.0")
    static let diary = Source(bundle: "app.example.diary", name: "Diary", version: "7.3")
}
