#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import ColumnFormat
import HealthModel
import LMDB

extension DailyTotal: SyncRecord {
    static var table: TableCode { .totals }

    func encode(into record: inout RecordWriter) {
        record.append(peer)
        record.append(type.identifier)
        record.append(day)
        record.append(zone)
        record.append(value == nil ? 0 : 1 as UInt8)
        record.append((value ?? 0).bitPattern)
        record.append(unit.symbol)
        record.append(isComplete ? 1 : 0 as UInt8)
        record.append(time.nanoseconds)
    }

    init(from record: inout RecordReader) throws {
        peer = try record.readText()
        type = SampleType(try record.readText())
        day = try record.readText()
        zone = try record.readText()
        let hasValue = try record.read(UInt8.self) != 0
        let bits = try record.read(UInt64.self)
        value = hasValue ? Double(bitPattern: bits) : nil
        unit = try HealthUnit(symbol: try record.readText())
        isComplete = try record.read(UInt8.self) != 0
        time = Instant(nanoseconds: try record.read(Int64.self))
    }
}

/// Keys of the totals: peer, type, day.
private enum TotalKey {
    static func prefix(_ peer: String, _ type: UInt32, _ hashKey: KeyedHash) -> [UInt8] {
        var writer = ByteWriter(reserving: 24)
        writer.bytes = PeerKey.peer(peer, hashKey)
        writer.appendBigEndian(type)
        return writer.bytes
    }

    static func key(_ peer: String, _ type: UInt32, _ day: Int, _ hashKey: KeyedHash) -> [UInt8] {
        var writer = ByteWriter(reserving: 24)
        writer.bytes = prefix(peer, type, hashKey)
        writer.appendBigEndian(UInt32(bitPattern: Int32(truncatingIfNeeded: day)) ^ 1 << 31)
        return writer.bytes
    }
}

extension DailyTotal {
    /// Throws if a store would not keep the total: a day on which there can be no sample, an unknown zone, a type or
    /// unit that a sample of it could not have.
    public func validate() throws(ModelError) {
        _ = try LocalDay.number(day, field: "day")
        for (text, field) in [(peer, "peer"), (zone, "zone")] where text.isEmpty || text.utf8.count > Sample.textLimit {
            throw .malformedText(field: field)
        }
        guard TimeZone(identifier: zone) != nil else { throw .unknownTimeZone }
        // The type and time are valid if a sample with them would be valid.
        try Sample(type, 0, type.canonicalUnit ?? unit, at: time).validate()
        if let canonical = type.canonicalUnit, !canonical.isCompatible(with: unit) {
            throw .incompatibleUnits(from: unit.symbol, to: canonical.symbol)
        }
        if let value, !value.isFinite { throw .notFinite(field: "total") }
    }
}

extension WriteTransaction {
    /// Stores a peer's total of a day. A newer reading replaces an older one, except an incomplete over a complete one,
    /// or one without a value over one with a value. Returns `true` if this total was stored. Throws for a day on which
    /// there can be no sample and for an unknown zone.
    ///
    /// ```swift
    /// try store.write { txn in
    ///     try txn.setTotal(
    ///         DailyTotal(
    ///             peer: "health", type: .stepCount, day: "2026-03-01", zone: "Europe/Berlin",
    ///             value: 8_112, unit: .count,
    ///             isComplete: true, time: now))
    /// }
    /// ```
    @discardableResult
    public mutating func setTotal(_ total: DailyTotal) throws -> Bool {
        try total.validate()
        let day = try LocalDay.number(total.day, field: "day")
        try checkRoom()
        return try whole { transaction in
            let number = try transaction.number(of: total.type)
            let key = TotalKey.key(total.peer, number, day, transaction.state.header.hashKey)
            if let older = try transaction.snapshot.record(key, as: DailyTotal.self), !total.replaces(older) {
                return false
            }
            let value = StoredSync(total, key: SyncKey(key), commit: transaction.commit).recordBytes
            try transaction.put(.totals, key, value)
            return true
        }
    }

    /// Removes all totals of a peer.
    mutating func removeTotals(peer: String) throws {
        let hashKey = state.header.hashKey
        for total in try snapshot.records(prefix: PeerKey.peer(peer, hashKey), as: DailyTotal.self) {
            guard let number = try snapshot.number(of: total.type), let day = CivilTime.day(total.day) else { continue }
            try remove(.totals, TotalKey.key(peer, number, day, hashKey))
        }
    }

    /// Removes the totals of a type from a peer, as when it is disconnected.
    public mutating func removeTotals(of type: SampleType, peer: String) throws {
        let kept = try totals(of: type, peer: peer)
        guard let number = try snapshot.number(of: type) else { return }
        for total in kept {
            guard let day = CivilTime.day(total.day) else { continue }
            try remove(.totals, TotalKey.key(peer, number, day, state.header.hashKey))
        }
    }
}

extension SampleReading where Self: ~Copyable {
    /// Returns the totals that a peer gave, by day.
    public func totals(of type: SampleType, peer: String) throws -> [DailyTotal] {
        let snapshot = snapshot
        guard let number = try snapshot.number(of: type) else { return [] }
        return try snapshot.records(
            prefix: TotalKey.prefix(peer, number, snapshot.header.hashKey), as: DailyTotal.self)
    }

    /// Returns a peer's totals beside the sums of the store's samples, to show differences.
    ///
    /// ```swift
    /// for day in try store.read({ try $0.compareTotals(of: .stepCount, peer: "HealthKit") }) {
    ///     print(day.total.day, day.total.value ?? 0, day.own ?? 0, day.difference ?? 0)
    /// }
    /// ```
    public func compareTotals(of type: SampleType, peer: String) throws -> [DailyTotalComparison] {
        var comparisons: [DailyTotalComparison] = []
        try compareTotals(of: type, peer: peer) { comparisons.append($0) }
        return comparisons
    }

    /// Compares one day after another, for days that begin in a range. A day whose range the store cannot determine is
    /// always included.
    public func compareTotals(
        of type: SampleType, peer: String, from: Instant = .distantPast, to: Instant = .distantFuture,
        _ body: (DailyTotalComparison) throws -> Void
    ) throws {
        for total in try totals(of: type, peer: peer) {
            guard let zone = TimeZone(identifier: total.zone), let day = CivilTime.day(total.day),
                let bounds = LocalDay(day, in: zone).bounds
            else {
                try body(DailyTotalComparison(total: total, range: nil, count: 0, own: nil))
                continue
            }
            guard bounds.from >= from, bounds.from < to else { continue }
            let own = try statistics(of: type, from: bounds.from, to: bounds.to, unit: total.unit)
            let sum = own.hasData ? own.sum ?? own.average : nil
            let range = TimeRange(from: bounds.from, to: bounds.to)
            try body(DailyTotalComparison(total: total, range: range, count: own.count, own: sum))
        }
    }
}
