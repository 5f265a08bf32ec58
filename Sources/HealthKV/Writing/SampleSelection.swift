import HealthModel

/// The samples that ``WriteTransaction/delete(_:)`` and ``WriteTransaction/purge(_:)`` remove. A selection that fits no
/// sample removes none, which is not an error.
public enum SampleSelection: Sendable, Hashable {
    /// The sample with an id.
    case id(SampleID)
    /// The samples with these ids.
    case ids([SampleID])
    /// The sample with a sync identifier, a type and a source.
    case syncIdentifier(String, of: SampleType, source: SourceIdentity)
    /// The samples of a group, such as a meal with all its nutrients: those of one source, or of all.
    case group(String, source: SourceIdentity? = nil)
    /// All samples of a source. An identity without a bundle means the source without a bundle; if the store has no
    /// such source, it means all sources of that name.
    case source(SourceIdentity)
    /// The samples of a type that start in `from..<to`.
    case range(of: SampleType, from: Instant = .distantPast, to: Instant = .distantFuture)
    /// The samples whose metadata has a key with one of these values: those of some types, or of all.
    case metadata(String, values: [MetadataValue], types: Set<SampleType>? = nil)
}

extension SampleLookup {
    /// Returns the rows of a selection, each once. A source or a range may be too large for that: mass operations
    /// remove those.
    static func find(_ selection: SampleSelection, in snapshot: Snapshot) throws -> [FoundRow] {
        switch selection {
        case .id(let id): return try find(id, in: snapshot).map { [$0] } ?? []
        case .ids(let ids):
            var taken: Set<SampleID> = []
            return try ids.compactMap { id in try taken.insert(id).inserted ? find(id, in: snapshot) : nil }
        case .syncIdentifier(let text, let type, let source):
            guard let type = try NameTable.number(of: type, in: snapshot),
                let source = try NameTable.number(of: source, in: snapshot)
            else { return [] }
            return try find(syncIdentifier: text, in: snapshot)
                .filter { candidate in
                    try candidate.lane.type == type
                        && NameTable.revision(candidate.row.revision, in: snapshot).sourceNumber == source
                }
        case .group(let group, let source):
            return try find(group: group, of: source.map { [$0] }, in: snapshot)
        case .metadata(let key, let values, let types):
            return try find(metadataKey: key, types: types, in: snapshot) { values.contains($0) }
        case .source, .range: preconditionFailure("mass operations remove sources and ranges")
        }
    }
}
