import HealthModel

// Iterates whole tables of sync record by record, for dumps: memory use stays constant.
extension SampleReading where Self: ~Copyable {
    /// Calls `body` with the daily totals of all peers.
    public func forEachTotal(_ body: (DailyTotal) throws -> Void) throws {
        try PeerTables.forEachRecord(of: DailyTotal.self, in: snapshot) { try body($0) }
    }

    /// Returns the types for which shadowing was set explicitly, that is, whether samples of exactly the same time
    /// shadow each other. See ``SampleStore/setShadowing(of:_:)``.
    public func shadowing() throws -> [SampleType: Bool] {
        let snapshot = snapshot
        var set: [SampleType: Bool] = [:]
        for (number, isOn) in snapshot.header.shadowing { set[try NameTable.type(number, in: snapshot)] = isOn }
        return set
    }
}
