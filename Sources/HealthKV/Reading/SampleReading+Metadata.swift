import ColumnFormat
import HealthModel
import LMDB

extension SampleReading where Self: ~Copyable {
    /// Returns the samples whose metadata has a key with one of these values, by type, start, end and id, including
    /// shadowed ones.
    ///
    /// ```swift
    /// let logged = try store.read { try $0.samples(metadataKey: "LogNumber", values: [.string("17")]) }
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
        // They are found by the number of the type and by how long they last.
        return try SampleLookup.find(metadataKey: key, types: types, in: snapshot) { values.contains($0) }
            .filter { !$0.isHidden }.map { try NameTable.sample($0.row, $0.lane.type, in: snapshot) }
            .sorted { ($0.type, $0.start, $0.end, $0.id) < ($1.type, $1.start, $1.end, $1.id) }
    }
}
