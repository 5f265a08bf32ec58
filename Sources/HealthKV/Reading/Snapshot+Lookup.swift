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

extension Snapshot {
    /// Returns the row with an id. Also finds hidden rows, which are marked as such.
    func find(_ id: SampleID) throws -> FoundRow? {
        if DerivedID.isDerived(id), let found = try findDerived(id) { return found }
        return try find(id, among: hints(IdentityHash.of(id, header.hashKey)))
    }

    /// Returns the row with a stored id among the places that hints point to.
    func find(_ id: SampleID, among hints: [IdentityEntry]) throws -> FoundRow? {
        for hint in unique(hints) {
            guard let lane = hint.kind.lane else { throw damaged("an identity leads nowhere") }
            if let found = try find(id, lane, hint.starts) { return found }
        }
        return nil
    }

    /// Returns the hints that point to chunks, each place once.
    private func unique(_ hints: [IdentityEntry]) -> [IdentityEntry] {
        var last: IdentityEntry?
        return hints.filter { hint in
            defer { last = hint }
            return !hint.kind.isTombstone && hint != last
        }
    }

    /// Looks for a stored id among the rows of a lane that start in a range of time.
    private func find(_ id: SampleID, _ lane: Lane, _ starts: ClosedRange<Int64>) throws -> FoundRow? {
        var found: FoundRow?
        try forEachChunk(lane, from: .at(starts.lowerBound), to: .after(starts.upperBound)) { chunk in
            guard chunk.rows > 0 else { return true }
            // The hot value is being prefetched; look up its details meanwhile.
            let key = chunk.key.bytes
            guard let span = try view.get(tables[.details], key) else { throw damaged("a chunk has no details") }
            prefetch(span, limit: 256)
            let near = try chunk.find(startingIn: starts)
            if near.rows.isEmpty { return true }
            let details = try DetailsChunk(span, of: chunk, verified: context.verified)
            guard let index = try details.row(of: id, in: near.rows) else { return true }
            found = try self.found(chunk, details, at: index, of: near)
            return false
        }
        return found
    }

    /// Returns the ids of all rows with a stored id of a given 40-bit hash, including hidden rows, because they still
    /// exist.
    func storedIDs(hashed hash: UInt64) throws -> Set<SampleID> {
        var ids: Set<SampleID> = []
        try forEachDetails(among: hints(hash << IdentityEntry.quantumBits)) { details, near in
            for id in try details.storedIDs(in: near)
            where IdentityEntry.hash(IdentityHash.of(id, header.hashKey)) == hash {
                ids.insert(id)
            }
            return true
        }
        return ids
    }

    /// Returns `true` if one of the rows that hints point to stores this id in full.
    func isStored(_ id: SampleID, among hints: [IdentityEntry]) throws -> Bool {
        var isStored = false
        try forEachDetails(among: hints) { details, near in
            guard let row = try details.row(of: id, in: near) else { return true }
            isStored = try !details.storedIDs(in: row..<row + 1).isEmpty
            return !isStored
        }
        return isStored
    }

    /// Calls `body` with the details of each chunk that hints point to, and the range of rows in question, until it
    /// returns `false`.
    private func forEachDetails(
        among hints: [IdentityEntry], _ body: (borrowing DetailsChunk, Range<Int>) throws -> Bool
    ) throws {
        var goesOn = true
        for hint in unique(hints) where goesOn {
            guard let lane = hint.kind.lane else { throw damaged("an identity leads nowhere") }
            try forEachChunk(lane, from: .at(hint.starts.lowerBound), to: .after(hint.starts.upperBound)) { chunk in
                guard chunk.rows > 0 else { return true }
                let near = try chunk.find(startingIn: hint.starts)
                if near.rows.isEmpty { return true }
                let key = chunk.key.bytes
                guard let span = try view.get(tables[.details], key) else { throw damaged("a chunk has no details") }
                let details = try DetailsChunk(span, of: chunk, verified: context.verified)
                goesOn = try body(details, near.rows)
                return goesOn
            }
        }
    }

    private func found(
        _ chunk: HotChunk, _ details: DetailsChunk, at index: Int, of near: FoundRows
    ) throws -> FoundRow {
        _ = try type(chunk.key.lane.type)
        _ = try revision(chunk.revision(at: index))
        _ = try unit(chunk.unit(at: index))
        let row = try ChunkDecoder(hot: chunk, details: details).row(at: index, of: near, context)
        let isHidden = try !context.state.intents.isEmpty && hidden([row], chunk.key.lane)?(row) ?? false
        return FoundRow(lane: chunk.key.lane, row: row, isHidden: isHidden)
    }

    /// Finds a derived id by the type and start that it contains; no index is needed.
    private func findDerived(_ id: SampleID) throws -> FoundRow? {
        let start = DerivedID.start(of: id).nanoseconds
        for type in try typesWithChunks() {
            var hash = WordHash(seed: 1)
            hash.mix(try self.type(type).identifier)
            guard hash.value & 0xFFFF == DerivedID.typeBits(of: id) else { continue }
            for duration in DurationClass.allCases {
                var found: FoundRow?
                let lane = Lane(type: type, duration: duration)
                try forEachChunk(lane, from: .at(start), to: .after(start)) { chunk in
                    guard chunk.rows > 0 else { return true }
                    let near = try chunk.find(startingIn: start...start)
                    if near.rows.isEmpty { return true }
                    let key = chunk.key.bytes
                    guard let span = try view.get(tables[.details], key) else {
                        throw damaged("a chunk has no details")
                    }
                    let details = try DetailsChunk(span, of: chunk, verified: context.verified)
                    for index in near.rows {
                        let candidate = try self.found(chunk, details, at: index, of: near)
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
    func findAll(
        _ kind: DetailsChunk.Text, _ text: String, orID id: SampleID? = nil, among hints: [IdentityEntry]
    ) throws -> [FoundRow] {
        if hints.isEmpty { return [] }
        let bytes = Array(text.utf8)
        var found: [FoundRow] = []
        for hint in unique(hints) {
            guard let lane = hint.kind.lane else { throw damaged("an identity leads nowhere") }
            try forEachChunk(lane, from: .at(hint.starts.lowerBound), to: .after(hint.starts.upperBound)) { chunk in
                guard chunk.rows > 0 else { return true }
                let near = try chunk.find(startingIn: hint.starts)
                if near.rows.isEmpty { return true }
                let key = chunk.key.bytes
                guard let span = try view.get(tables[.details], key) else { throw damaged("a chunk has no details") }
                let details = try DetailsChunk(span, of: chunk, verified: context.verified)
                for index in try details.rows(with: bytes, kind, in: near.rows) {
                    found.append(try self.found(chunk, details, at: index, of: near))
                }
                if let id, let index = try details.row(of: id, in: near.rows) {
                    let row = try self.found(chunk, details, at: index, of: near)
                    if row.row.flags.contains(.syncIsID) { found.append(row) }
                }
                return true
            }
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
    func find(syncIdentifier text: String) throws -> [FoundRow] {
        // The default sync identifier is the text of the id. It has the hash of the id and needs no entry of its own.
        let id = SampleID(canonical: text)
        let hash = id.map { IdentityHash.of($0, header.hashKey) }
        let hints = try hints(hash ?? IdentityHash.of(syncIdentifier: text, header.hashKey))
        var found = try findAll(.syncIdentifier, text, orID: id, among: hints)
        if let id, DerivedID.isDerived(id), let row = try findDerived(id), row.row.flags.contains(.syncIsID),
            !found.contains(where: { $0.row.id == id })
        {
            found.append(row)
        }
        return found
    }

    /// Returns the rows of a group; with `sources`, only rows of these sources.
    func find(group: String, of sources: Set<SourceIdentity>? = nil) throws -> [FoundRow] {
        let found = try findAll(.group, group, among: hints(IdentityHash.of(group: group, header.hashKey)))
        guard let sources else { return found }
        return try found.filter { try sources.contains(source(revision($0.row.revision).sourceNumber)) }
    }
}

extension Point {
    /// Returns the first point after all points that start at `start`.
    static func after(_ start: Int64) -> Point { start == .max ? .greatest : .at(start + 1) }
}
