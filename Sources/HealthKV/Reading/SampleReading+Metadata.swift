import ColumnFormat
import HealthModel
import LMDB

extension SampleReading where Self: ~Copyable {
    /// Returns the samples whose metadata has a key with one of these values, by type, start, end and id, including
    /// shadowed ones.
    ///
    /// ```swift
    /// let logged = try store.read { try $0.samples(metadataKey: "DietAppLogId", values: [.string("17")]) }
    /// ```
    ///
    /// There is no index for this: the read checks the distinct metadata of every chunk of the types, which is fast if
    /// few chunks have any.
    ///
    /// - Parameters:
    ///   - key: the metadata key.
    ///   - values: the values to look for; a sample matches if it has any of them.
    ///   - types: the types to search; `nil` for all.
    public func samples(
        metadataKey key: String, values: [MetadataValue], types: Set<SampleType>? = nil
    ) throws -> [Sample] {
        let snapshot = snapshot
        return try snapshot.find(metadataKey: key, types: types) { values.contains($0) }.filter { !$0.isHidden }.map {
            try snapshot.sample($0.row, $0.lane.type)
        }
    }
}

extension WriteTransaction {
    /// Deletes the samples whose metadata has a key with one of these values, and returns their number.
    @discardableResult
    public mutating func deleteSamples(
        metadataKey key: String, values: [MetadataValue], types: Set<SampleType>? = nil
    ) throws -> Int {
        try deleteLive(snapshot.find(metadataKey: key, types: types) { values.contains($0) })
    }
}

extension Snapshot {
    /// Returns the rows whose metadata has a key with a value that fits, including hidden rows, which are marked as
    /// such.
    func find(
        metadataKey key: String, types: Set<SampleType>?, _ fits: (MetadataValue) -> Bool
    ) throws -> [FoundRow] {
        var found: [FoundRow] = []
        for type in try typesWithChunks() {
            if let types, try !types.contains(self.type(type)) { continue }
            for duration in DurationClass.allCases {
                let lane = Lane(type: type, duration: duration)
                try forEachChunk(lane, from: .least, to: .greatest) { chunk in
                    try find(metadataKey: key, in: chunk, &found, fits)
                    return true
                }
            }
        }
        return found
    }

    private func find(
        metadataKey key: String, in chunk: HotChunk, _ found: inout [FoundRow], _ fits: (MetadataValue) -> Bool
    ) throws {
        guard chunk.rows > 0 else { return }
        let keyBytes = chunk.key.bytes
        guard let span = try view.get(tables[.details], keyBytes) else { throw damaged("a chunk has no details") }
        let details = try DetailsChunk(span, of: chunk, verified: context.verified)
        let wanted = try details.distinctMetadata().filter { bytes in
            try MetadataCoding.decode(bytes)[key].map(fits) ?? false
        }
        if wanted.isEmpty { return }
        let set = Set(wanted)
        let rows = try allRows(chunk)
        let hides = try hidden(rows, chunk.key.lane)
        for row in rows {
            guard let metadata = row.rare?.metadata, set.contains(metadata) else { continue }
            found.append(FoundRow(lane: chunk.key.lane, row: row, isHidden: hides?(row) ?? false))
        }
    }
}
