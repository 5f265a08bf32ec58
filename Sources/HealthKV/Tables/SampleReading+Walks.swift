import HealthModel

// Iterates whole tables of sync record by record, for dumps: memory use stays constant.
extension SampleReading where Self: ~Copyable {
    /// Calls `body` with the daily totals of all peers.
    public func forEachTotal(_ body: (DailyTotal) throws -> Void) throws {
        try snapshot.forEachRecord(of: DailyTotal.self) { try body($0) }
    }

    /// Returns the types for which shadowing was set explicitly, that is, whether samples of exactly the same time
    /// shadow each other. See ``SampleStore/setShadowing(of:_:)``.
    public func shadowing() throws -> [SampleType: Bool] {
        let snapshot = snapshot
        var set: [SampleType: Bool] = [:]
        for (number, isOn) in snapshot.header.shadowing { set[try snapshot.type(number)] = isOn }
        return set
    }
}

extension Snapshot {
    fileprivate func forEachRecord<Record: SyncRecord>(
        of type: Record.Type, _ body: (Record) throws -> Void
    ) throws {
        try StoredSync<Record>.table(tables).forEach(in: view) { key, stored in
            guard stored.key == key else { throw damaged("a record of sync stands under another's key") }
            try body(stored.record)
            return true
        }
    }
}
