#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import ColumnFormat
import HealthModel
import LMDB

/// The daily totals that peers gave, by peer, type and day.
enum PeerTotalsTable {
    static func prefix(_ peer: PeerID, _ type: UInt32, _ hashKey: KeyedHash) -> [UInt8] {
        var writer = ByteWriter(reserving: 24)
        writer.bytes = PeerKey.peer(peer, hashKey)
        writer.appendBigEndian(type)
        return writer.bytes
    }

    static func key(_ peer: PeerID, _ type: UInt32, _ day: Int, _ hashKey: KeyedHash) -> [UInt8] {
        var writer = ByteWriter(reserving: 24)
        writer.bytes = prefix(peer, type, hashKey)
        writer.appendBigEndian(UInt32(bitPattern: Int32(truncatingIfNeeded: day)) ^ 1 << 31)
        return writer.bytes
    }

    /// Marks a peer's totals of the days of a sample as incomplete: what the peer counts on them changes.
    static func doubt(_ peer: PeerID, _ type: UInt32, from: Int64, to: Int64, in txn: inout WriteTransaction) throws {
        let to = to == .max ? from : to
        let days = [from, to].map { LocalDay(of: Instant(nanoseconds: $0), in: .gmt).number }
        // In another zone the day may be the one before or after.
        for number in (days[0] - 1)...min(max(days[0], days[1]) + 1, days[0] + 400) {
            let key = PeerTotalsTable.key(peer, type, number, txn.state.header.hashKey)
            guard var total = try PeerTables.record(key, as: DailyTotal.self, in: txn.snapshot), total.isComplete,
                let range = LocalDays.range(of: total.day, zone: total.zone),
                range.from.nanoseconds <= to, range.to.nanoseconds > from
            else { continue }
            total.isComplete = false
            try txn.put(.totals, key, StoredSync(total, key: SyncKey(key), stamp: txn.stamp).recordBytes)
        }
    }

    /// Removes all totals of a peer.
    static func removeTotals(peer: PeerID, in txn: inout WriteTransaction) throws {
        let hashKey = txn.state.header.hashKey
        for total in try PeerTables.records(prefix: PeerKey.peer(peer, hashKey), as: DailyTotal.self, in: txn.snapshot)
        {
            guard let number = try NameTable.number(of: total.type, in: txn.snapshot),
                let day = CivilTime.day(total.day)
            else { continue }
            try txn.remove(.totals, PeerTotalsTable.key(peer, number, day, hashKey))
        }
    }
}

extension DailyTotal: SyncRecord {
    static var table: TableCode { .totals }

    func encode(into record: inout RecordWriter) {
        record.append(peer.rawValue)
        record.append(type.identifier)
        record.append(day)
        record.append(zone)
        record.append((value == nil ? 0 : 1) | (goal == nil ? 0 : 2) as UInt8)
        record.append((value ?? 0).bitPattern)
        record.append(unit.symbol)
        record.append(isComplete ? 1 : 0 as UInt8)
        record.append(time.nanoseconds)
        if let goal { record.append(goal.bitPattern) }
    }

    init(from record: inout RecordReader) throws {
        peer = try PeerID(record.readText())
        type = SampleType(try record.readText())
        day = try record.readText()
        zone = try record.readText()
        let parts = try record.read(UInt8.self)
        let bits = try record.read(UInt64.self)
        value = parts & 1 != 0 ? Double(bitPattern: bits) : nil
        unit = try HealthUnit(symbol: try record.readText())
        isComplete = try record.read(UInt8.self) != 0
        time = Instant(nanoseconds: try record.read(Int64.self))
        goal = parts & 2 != 0 ? Double(bitPattern: try record.read(UInt64.self)) : nil
    }
}

extension DailyTotal {
    /// Throws if a store would not keep the total: a day on which there can be no sample, an unknown zone, a type or
    /// unit that a sample of it could not have.
    public func validate() throws(ModelError) {
        _ = try LocalDay.number(day, field: "day")
        for (text, field) in [(peer.rawValue, "peer"), (zone, "zone")]
        where text.isEmpty || text.utf8.count > Sample.textLimit {
            throw .malformedText(field: field)
        }
        guard zone == DailyTotal.floatingZone || TimeZone(identifier: zone) != nil else { throw .unknownTimeZone }
        // The type and time are valid if a sample with them would be valid.
        try Sample(type, 0, type.canonicalUnit ?? unit, at: time).validate()
        if let canonical = type.canonicalUnit, !canonical.isCompatible(with: unit) {
            throw .incompatibleUnits(from: unit.symbol, to: canonical.symbol)
        }
        try validateFinite()
    }

    /// Whether the value is finite, in the canonical unit of the type as well. Older releases stored others.
    var isFinite: Bool { (try? validateFinite()) != nil }

    private func validateFinite() throws(ModelError) {
        try Sample.validate(finite: value.map { Quantity($0, unit) }, type.canonicalUnit, "total")
        try Sample.validate(finite: goal.map { Quantity($0, unit) }, type.canonicalUnit, "goal")
    }
}

extension SampleReading where Self: ~Copyable {
    /// Returns the totals that a peer gave, by day.
    public func totals(of type: SampleType, peer: PeerID) throws -> [DailyTotal] {
        let snapshot = snapshot
        guard let number = try NameTable.number(of: type, in: snapshot) else { return [] }
        return try PeerTables.records(
            prefix: PeerTotalsTable.prefix(peer, number, snapshot.header.hashKey), as: DailyTotal.self, in: snapshot)
    }

    /// Returns the total that a peer gave of a day.
    package func total(of type: SampleType, peer: PeerID, day: String) throws -> DailyTotal? {
        let snapshot = snapshot
        guard let day = CivilTime.day(day), let number = try NameTable.number(of: type, in: snapshot) else {
            return nil
        }
        return try PeerTables.record(
            PeerTotalsTable.key(peer, number, day, snapshot.header.hashKey), as: DailyTotal.self, in: snapshot)
    }

    /// Returns a peer's totals beside the sums of the store's samples, to show differences.
    ///
    /// ```swift
    /// for day in try store.read({ try $0.compareTotals(of: .stepCount, peer: "HealthKit") }) {
    ///     print(day.total.day, day.total.value ?? 0, day.own ?? 0, day.difference ?? 0)
    /// }
    /// ```
    public func compareTotals(of type: SampleType, peer: PeerID) throws -> [DailyTotalComparison] {
        var comparisons: [DailyTotalComparison] = []
        try compareTotals(of: type, peer: peer) { comparisons.append($0) }
        return comparisons
    }

    /// Compares one day after another, for days that begin in a range. A day whose range the store cannot determine is
    /// always included, and one whose total is not finite never. A day that is a date only is taken as that of a zone.
    public func compareTotals(
        of type: SampleType, peer: PeerID, from: Instant = .distantPast, to: Instant = .distantFuture,
        floatingIn local: TimeZone = .current, _ body: (DailyTotalComparison) throws -> Void
    ) throws {
        for total in try totals(of: type, peer: peer) where total.isFinite {
            let isFloating = total.zone == DailyTotal.floatingZone
            guard let zone = isFloating ? local : TimeZone(identifier: total.zone), let day = CivilTime.day(total.day),
                let bounds = LocalDay(day, in: zone).bounds
            else {
                try body(DailyTotalComparison(total: total, range: nil, count: 0, own: nil))
                continue
            }
            guard bounds.from >= from, bounds.from < to else { continue }
            let own = try statistics(of: type, from: bounds.from, to: bounds.to, unit: total.unit)
            // A category's numbers stand for cases; there is nothing to compare.
            let sum = own.hasData && type.kind != .category ? own.sum ?? own.average : nil
            let range = TimeRange(from: bounds.from, to: bounds.to)
            try body(DailyTotalComparison(total: total, range: range, count: own.count, own: sum))
        }
    }
}
