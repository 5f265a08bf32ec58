import HealthModel

// Whole tables of sync one record after another, for dumps: memory stays flat.
extension SampleReading where Self: ~Copyable {
    /// Calls `body` with the links of all peers, those of deleted samples too.
    public func forEachLink(_ body: (PeerLink) throws -> Void) throws {
        try snapshot.forEachRecord(of: PeerLink.self) { key, link in
            // Each link stands under the peer's id too.
            if key == PeerKey.link(link.peer, 0, link.sample, snapshot.header.hashKey) { try body(link) }
        }
    }

    /// Calls `body` with the daily totals that all peers gave.
    public func forEachTotal(_ body: (DailyTotal) throws -> Void) throws {
        try snapshot.forEachRecord(of: DailyTotal.self) { _, total in try body(total) }
    }

    /// The types for which it was set whether samples of exactly the same time shadow each other. See
    /// ``SampleStore/setShadowing(of:_:)``.
    public func shadowing() throws -> [SampleType: Bool] {
        let snapshot = snapshot
        var set: [SampleType: Bool] = [:]
        for (number, isOn) in snapshot.header.shadowing { set[try snapshot.type(number)] = isOn }
        return set
    }
}

extension Snapshot {
    fileprivate func forEachRecord<Record: SyncRecord>(
        of type: Record.Type, _ body: ([UInt8], Record) throws -> Void
    ) throws {
        try StoredSync<Record>.table(tables).forEach(in: view) { key, stored in
            guard stored.key == key else { throw damaged("a record of sync stands under another's key") }
            try body(key.keyBytes, stored.record)
            return true
        }
    }
}
