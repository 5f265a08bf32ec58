import ColumnFormat
import HealthModel

/// A sample with its names as numbers, for reading whole histories. Within one transaction equal numbers mean equal
/// names, so a caller that prints or copies names needs to look at each name only once.
package struct StoredSample {
    package let id: SampleID
    package let start: Instant
    package let end: Instant
    package let value: Double
    package let unit: UInt32
    package let source: UInt32
    /// 0 if there is none.
    package let device: UInt32
    package let version: Int64
    package let modified: ChangeClock
    package let count: Int32
    package let multiplicity: Int32
    package let isImported: Bool
    package let isUserEntered: Bool
    /// Whether the sync identifier is the text of the id.
    package let isSyncedByID: Bool
    package let rare: Rare?

    /// Fields that few samples have.
    package struct Rare {
        fileprivate let fields: RareFields

        package var syncIdentifier: String? { fields.content.syncIdentifier }
        package var group: String? { fields.content.group }
        package var timeZone: String? { fields.content.timeZone }
        /// Metadata in its stored form: equal bytes are equal metadata.
        package var metadata: [UInt8]? { fields.content.metadata }
        /// Whether the sample also has local values, a workout, an original or a reversion.
        package var hasMore: Bool {
            fields.content.local != nil || fields.content.payload != nil || fields.content.original != nil
                || fields.content.reversion != nil
        }
    }

    fileprivate init(_ row: borrowing StoredRow) {
        id = row.id
        start = Instant(nanoseconds: row.start)
        end = Instant(nanoseconds: row.end)
        value = row.value
        unit = row.unit
        source = row.revision
        device = row.device
        version = row.version
        modified = row.clock
        count = row.count
        multiplicity = row.multiplicity
        isImported = row.flags.contains(.imported)
        isUserEntered = row.flags.contains(.userEntered)
        isSyncedByID = row.flags.contains(.syncIsID)
        rare = row.rare.map { Rare(fields: $0) }
    }
}

/// Several consecutive samples of a type.
package struct StoredSamples {
    fileprivate let rows: ArraySlice<StoredRow>

    package var indices: Range<Int> { rows.indices }
    package subscript(index: Int) -> StoredSample { StoredSample(rows.span[index - rows.startIndex]) }
}

extension SampleReading where Self: ~Copyable {
    /// Calls `body` with all samples of a type, including shadowed ones, ordered by start, end and id, several at a
    /// time, until it returns `false`. The second argument of `body` is a function that returns the complete sample at
    /// an index.
    ///
    /// - Parameter skippingDamage: skips damaged parts, and returns them.
    package func forEachStored(
        of type: SampleType, skippingDamage: Bool,
        _ body: (StoredSamples, _ whole: (Int) throws -> Sample) throws -> Bool
    ) throws -> [DamagedRange] {
        guard let number = try NameTable.askedNumber(of: type, in: snapshot) else { return [] }
        let snapshot = snapshot
        let log = skippingDamage ? DamageLog() : nil
        try RowReader.forEachRun(of: number, RowQuery(includeShadowed: true), skippingDamage: log, in: snapshot) {
            rows in
            try body(StoredSamples(rows: rows)) { try NameTable.sample(rows[$0], number, in: snapshot) }
        }
        return log?.ranges(of: type) ?? []
    }
}
