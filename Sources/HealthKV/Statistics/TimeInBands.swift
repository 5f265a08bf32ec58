import HealthModel

/// How long values stayed between borders, as for glucose or a pulse.
public struct TimeInBands: Sendable, Hashable {
    /// One band of values.
    public struct Band: Sendable, Hashable {
        /// The inclusive lower border; `nil` for none.
        public let lower: Double?
        /// The exclusive upper border; `nil` for none.
        public let upper: Double?
        /// How long values were in the band, in nanoseconds.
        public let nanoseconds: Int64
        /// The number of samples in the band, whether any time counts for them or not.
        public let count: Int
        /// The share of all time that counts, 0 to 1.
        public let share: Double
    }

    /// The bands, lowest first: one more than there are borders.
    public let bands: [Band]
    /// The unit of the borders; `nil` for a type without canonical unit that has no samples.
    public let unit: HealthUnit?

    /// All time that counts, in nanoseconds.
    public var nanoseconds: Int64 { bands.reduce(0) { saturated($0, $1.nanoseconds) } }
}

/// Centuries may be longer than a signed number of nanoseconds can express.
private func distance(_ from: Instant, _ to: Instant) -> Int64 {
    Int64(clamping: UInt64(bitPattern: to.nanoseconds &- from.nanoseconds))
}

private func saturated(_ one: Int64, _ other: Int64) -> Int64 {
    let (sum, isBeyond) = one.addingReportingOverflow(other)
    return isBeyond ? .max : sum
}

extension SampleReading where Self: ~Copyable {
    /// Returns how long the values of samples stayed in each band between borders.
    ///
    /// ```swift
    /// let unit = try HealthUnit(symbol: "mg/dL")
    /// let day = try store.read { txn in
    ///     try txn.timeInBands(SampleQuery(.bloodGlucose, from: a, to: b), borders: [70, 180], unit: unit)
    /// }
    /// print(day.bands.map(\.share))
    /// ```
    ///
    /// A value holds from the start of its sample to the start of the next one, but not for longer than `hold` after
    /// the end of the sample, and not beyond the range of the query. So time without measurements counts for no band.
    /// Of samples that start at the same time the last one holds. A value from before the range counts as long as it
    /// holds within the range, so that the times of two days add up to those of both; its sample is not among the
    /// ``TimeInBands/Band/count`` unless the query selects it.
    ///
    /// - Parameters:
    ///   - query: the samples; order and limit do not matter.
    ///   - borders: the borders between the bands, ascending.
    ///   - unit: the unit of the borders; `nil` for that of the type.
    ///   - hold: how long a value is taken to hold after its sample ended.
    public func timeInBands(
        _ query: SampleQuery, borders: [Double], unit: HealthUnit? = nil, hold: Duration = .seconds(900)
    ) throws -> TimeInBands {
        let path = snapshot.path
        guard zip(borders, borders.dropFirst()).allSatisfy({ $0 < $1 }), borders.allSatisfy(\.isFinite) else {
            throw StoreError(.invalidArgument, path: path, "The borders of bands must ascend")
        }
        guard hold >= .zero else { throw StoreError(.invalidArgument, path: path, "hold must not be below zero") }
        var query = query
        (query.sort, query.order, query.limit) = (.time, .ascending, nil)
        var unit = unit ?? snapshot.unit(of: query.type)
        var (times, counts) = (Array(repeating: Int64(0), count: borders.count + 1), [Int]())
        counts = Array(repeating: 0, count: borders.count + 1)
        var held: (band: Int, from: Instant, to: Instant)?
        func settle(at next: Instant) {
            guard let value = held else { return }
            let (from, to) = (max(value.from, query.range.from), min(value.to, next, query.range.to))
            if from < to { times[value.band] = saturated(times[value.band], distance(from, to)) }
        }
        /// Takes the value of a sample as the one that holds. Returns its band; `nil` if it is not finite.
        func take(_ sample: Sample, holds: Bool) throws -> Int? {
            let own = unit ?? sample.quantity.unit
            unit = own
            let value = try sample.value(in: own)
            guard value.isFinite else { return nil }
            let band = borders.indices.firstIndex(notPreceding: { borders[$0] <= value })
            if holds {
                settle(at: sample.start)
                let end = sample.isOpenEnded ? sample.start : sample.end
                held = (band, sample.start, end + hold)
            }
            return band
        }
        let from = query.range.from
        if from > .earliest {
            // The last value before the range may hold within it, if any does.
            var earlier = query
            earlier.range = TimeRange(from: min(from - hold, from - 1), to: from)
            (earlier.rule, earlier.order, earlier.limit) = (.overlap, .descending, 1)
            if let candidate = try samples(earlier).first {
                earlier.range.from = min(candidate.start, from)
                (earlier.rule, earlier.limit) = (.strictStart, nil)
                try forEachSample(earlier) { try take($0, holds: true) == nil }
            }
        }
        try forEachSample(query) { sample in
            // What starts before the range holds only if it is the last.
            if let band = try take(sample, holds: held.map { sample.start >= $0.from } ?? true) { counts[band] += 1 }
            return true
        }
        settle(at: .distantFuture)
        let total = times.reduce(0, saturated)
        let bands = times.indices.map { index in
            TimeInBands.Band(
                lower: index > 0 ? borders[index - 1] : nil, upper: index < borders.count ? borders[index] : nil,
                nanoseconds: times[index], count: counts[index],
                share: total > 0 ? Double(times[index]) / Double(total) : 0)
        }
        return TimeInBands(bands: bands, unit: unit)
    }
}
