import ColumnFormat
import HealthModel
import LMDB

/// A row and its lane.
struct FoundRow {
    var lane: Lane
    var row: StoredRow
    /// Whether a mass operation removes the row, but none of its steps has reached it yet.
    var isHidden: Bool
}

/// Finds rows by id, sync identifier or group: hints of the identity index, verified against the chunks.
enum SampleLookup {
    /// Returns the rows whose metadata has a key with a value that fits, including hidden rows, which are marked as
    /// such.
    static func find(
        metadataKey key: String, types: Set<SampleType>?, in snapshot: Snapshot, _ fits: (MetadataValue) -> Bool
    ) throws -> [FoundRow] {
        var found: [FoundRow] = []
        for type in try ChunkTable.typesWithChunks(in: snapshot) {
            if let types, try !types.contains(NameTable.type(type, in: snapshot)) { continue }
            for duration in DurationClass.allCases {
                let lane = Lane(type: type, duration: duration)
                try ChunkTable.forEachChunk(lane, from: .least, to: .greatest, in: snapshot) { chunk in
                    try find(metadataKey: key, in: chunk, &found, in: snapshot, fits)
                    return true
                }
            }
        }
        return found
    }

    private static func find(
        metadataKey key: String, in chunk: HotChunk, _ found: inout [FoundRow], in snapshot: Snapshot,
        _ fits: (MetadataValue) -> Bool
    ) throws {
        guard chunk.rows > 0 else { return }
        let details = try ChunkTable.details(of: chunk, in: snapshot)
        let wanted = try details.distinctMetadata().filter { bytes in
            try MetadataCoding.decode(bytes)[key].map(fits) ?? false
        }
        if wanted.isEmpty { return }
        let set = Set(wanted)
        let rows = try ChunkTable.allRows(chunk, in: snapshot)
        let hides = try ChunkTable.hidden(rows, chunk.key.lane, in: snapshot)
        for row in rows {
            guard let metadata = row.rare?.metadata, set.contains(metadata) else { continue }
            found.append(FoundRow(lane: chunk.key.lane, row: row, isHidden: hides?(row) ?? false))
        }
    }

    /// Returns the row with an id. Also finds hidden rows, which are marked as such.
    static func find(_ id: SampleID, in snapshot: Snapshot) throws -> FoundRow? {
        if DerivedID.isDerived(id), let found = try findDerived(id, in: snapshot) { return found }
        return try find(
            id, among: IdentityIndex.hints(IdentityHash.of(id, snapshot.header.hashKey), in: snapshot), in: snapshot)
    }

    /// Returns the row with a stored id among the places that hints point to.
    static func find(_ id: SampleID, among hints: [IdentityEntry], in snapshot: Snapshot) throws -> FoundRow? {
        for hint in unique(hints, in: snapshot) {
            guard let lane = hint.kind.lane else { throw snapshot.damaged(.identityLeadsNowhere) }
            if let found = try find(id, lane, hint.starts, in: snapshot) { return found }
        }
        return nil
    }

    /// Returns the hints that point to chunks, each place once.
    private static func unique(_ hints: [IdentityEntry], in snapshot: Snapshot) -> [IdentityEntry] {
        var last: IdentityEntry?
        return hints.filter { hint in
            defer { last = hint }
            return !hint.kind.isTombstone && hint != last
        }
    }

    /// Looks for a stored id among the rows of a lane that start in a range of time.
    private static func find(_ id: SampleID, _ lane: Lane, _ starts: ClosedRange<Int64>, in snapshot: Snapshot) throws
        -> FoundRow?
    {
        var found: FoundRow?
        try ChunkTable.forEachChunk(lane, from: .at(starts.lowerBound), to: .after(starts.upperBound), in: snapshot) {
            chunk in
            guard chunk.rows > 0 else { return true }
            // The hot value is being prefetched; look up its details meanwhile.
            let key = chunk.key.bytes
            guard let span = try snapshot.view.get(snapshot.tables[.details], key) else {
                throw snapshot.damaged(.detailsMissing)
            }
            prefetch(span, limit: 256)
            let near = try chunk.find(startingIn: starts)
            if near.rows.isEmpty { return true }
            let details = try DetailsChunk(span, of: chunk, verified: snapshot.context.verified)
            guard let index = try details.row(of: id, in: near.rows) else { return true }
            found = try SampleLookup.found(chunk, details, at: index, of: near, in: snapshot)
            return false
        }
        return found
    }

    /// Returns the ids of all rows with a stored id of a given 40-bit hash, including hidden rows, because they still
    /// exist.
    static func storedIDs(hashed hash: UInt64, in snapshot: Snapshot) throws -> Set<SampleID> {
        var ids: Set<SampleID> = []
        try forEachPlace(among: IdentityIndex.hints(hash << IdentityEntry.quantumBits, in: snapshot), in: snapshot) {
            _, details, near in
            for id in try details.storedIDs(in: near.rows)
            where IdentityEntry.hash(IdentityHash.of(id, snapshot.header.hashKey)) == hash {
                ids.insert(id)
            }
            return true
        }
        return ids
    }

    /// Returns `true` if one of the rows that hints point to stores this id in full.
    static func isStored(_ id: SampleID, among hints: [IdentityEntry], in snapshot: Snapshot) throws -> Bool {
        var isStored = false
        try forEachPlace(among: hints, in: snapshot) { _, details, near in
            guard let row = try details.row(of: id, in: near.rows) else { return true }
            isStored = try !details.storedIDs(in: row..<row + 1).isEmpty
            return !isStored
        }
        return isStored
    }

    /// Calls `body` with each chunk that hints point to, its details, and the rows in question, until it returns
    /// `false`.
    private static func forEachPlace(
        among hints: [IdentityEntry], in snapshot: Snapshot,
        _ body: (borrowing HotChunk, borrowing DetailsChunk, FoundRows) throws -> Bool
    ) throws {
        for hint in unique(hints, in: snapshot) {
            guard let lane = hint.kind.lane else { throw snapshot.damaged(.identityLeadsNowhere) }
            if try !forEachPlace(in: lane, startingIn: hint.starts, in: snapshot, body) { return }
        }
    }

    /// The same for the rows of a lane that start in a range. Returns `false` if `body` did.
    private static func forEachPlace(
        in lane: Lane, startingIn starts: ClosedRange<Int64>, in snapshot: Snapshot,
        _ body: (borrowing HotChunk, borrowing DetailsChunk, FoundRows) throws -> Bool
    ) throws -> Bool {
        var goesOn = true
        try ChunkTable.forEachChunk(
            lane, from: .at(starts.lowerBound), to: .after(starts.upperBound), in: snapshot
        ) { chunk in
            guard chunk.rows > 0 else { return true }
            let near = try chunk.find(startingIn: starts)
            if near.rows.isEmpty { return true }
            let details = try ChunkTable.details(of: chunk, in: snapshot)
            goesOn = try body(chunk, details, near)
            return goesOn
        }
        return goesOn
    }

    private static func found(
        _ chunk: HotChunk, _ details: DetailsChunk, at index: Int, of near: FoundRows, in snapshot: Snapshot
    ) throws -> FoundRow {
        let row = try ChunkTable.row(chunk, details, at: index, of: near, in: snapshot)
        let isHidden =
            try !snapshot.context.state.intents.isEmpty
            && ChunkTable.hidden([row], chunk.key.lane, in: snapshot)?(row) ?? false
        return FoundRow(lane: chunk.key.lane, row: row, isHidden: isHidden)
    }

    /// Finds a derived id by the type and start that it contains; no index is needed.
    private static func findDerived(_ id: SampleID, in snapshot: Snapshot) throws -> FoundRow? {
        let start = DerivedID.start(of: id).nanoseconds
        for type in try ChunkTable.typesWithChunks(in: snapshot) {
            var hash = WordHash(seed: 1)
            hash.mix(try NameTable.type(type, in: snapshot).identifier)
            guard hash.value & 0xFFFF == DerivedID.typeBits(of: id) else { continue }
            for duration in DurationClass.allCases {
                var found: FoundRow?
                let lane = Lane(type: type, duration: duration)
                _ = try forEachPlace(in: lane, startingIn: start...start, in: snapshot) { chunk, details, near in
                    for index in near.rows {
                        let candidate = try SampleLookup.found(chunk, details, at: index, of: near, in: snapshot)
                        if candidate.row.id == id { found = candidate }
                    }
                    return found == nil
                }
                if let found { return found }
            }
        }
        return nil
    }

    /// Returns the rows that have a text, byte for byte, among the places that hints point to.
    ///
    /// - Parameter id: also returns the row with this id if its sync identifier is the text of its id.
    static func findAll(
        _ kind: DetailsChunk.Text, _ text: String, orID id: SampleID? = nil, among hints: [IdentityEntry],
        in snapshot: Snapshot
    ) throws -> [FoundRow] {
        if hints.isEmpty { return [] }
        let bytes = Array(text.utf8)
        var found: [FoundRow] = []
        try forEachPlace(among: hints, in: snapshot) { chunk, details, near in
            for index in try details.rows(with: bytes, kind, in: near.rows) {
                found.append(try SampleLookup.found(chunk, details, at: index, of: near, in: snapshot))
            }
            if let id, let index = try details.row(of: id, in: near.rows) {
                let row = try SampleLookup.found(chunk, details, at: index, of: near, in: snapshot)
                if row.row.flags.contains(.syncIsID) { found.append(row) }
            }
            return true
        }
        guard found.count > 1 else { return found }
        found.sort { ($0.lane, $0.row.point) < ($1.lane, $1.row.point) }
        // Overlapping hints point to the same row twice.
        var last: SampleID?
        return found.filter { row in
            defer { last = row.row.id }
            return row.row.id != last
        }
    }

    /// Returns the rows with a sync identifier, of any type and source.
    static func find(syncIdentifier text: String, in snapshot: Snapshot) throws -> [FoundRow] {
        // The default sync identifier is the text of the id. It has the hash of the id and needs no entry of its own.
        let id = SampleID(canonical: text)
        let hash = id.map { IdentityHash.of($0, snapshot.header.hashKey) }
        let hints = try IdentityIndex.hints(
            hash ?? IdentityHash.of(syncIdentifier: text, snapshot.header.hashKey), in: snapshot)
        var found = try findAll(.syncIdentifier, text, orID: id, among: hints, in: snapshot)
        if let id, DerivedID.isDerived(id), let row = try findDerived(id, in: snapshot),
            row.row.flags.contains(.syncIsID),
            !found.contains(where: { $0.row.id == id })
        {
            found.append(row)
        }
        return found
    }

    /// Returns the rows of a group; with `sources`, only rows of these sources.
    static func find(group: String, of sources: Set<SourceIdentity>? = nil, in snapshot: Snapshot) throws -> [FoundRow]
    {
        let found = try findAll(
            .group, group,
            among: IdentityIndex.hints(IdentityHash.of(group: group, snapshot.header.hashKey), in: snapshot),
            in: snapshot)
        guard let sources else { return found }
        return try found.filter {
            try sources.contains(
                NameTable.source(NameTable.revision($0.row.revision, in: snapshot).sourceNumber, in: snapshot))
        }
    }
}

extension Point {
    /// Returns the first point after all points that start at `start`.
    static func after(_ start: Int64) -> Point { start == .max ? .greatest : .at(start + 1) }
}
