import ColumnFormat
import HealthModel

/// Reads the rows of a query in its own order, and behind a place in it.
enum QueryRows {
    /// Returns one page after a place, and the place of its last sample.
    static func page(
        _ query: SampleQuery, size: Int, behind last: SamplePlace?, _ log: DamageLog? = nil,
        in snapshot: Snapshot
    ) throws -> ([Sample], SamplePlace?) {
        guard try query.checkedLimit(in: snapshot) > 0,
            let number = try NameTable.askedNumber(of: query.type, in: snapshot)
        else { return ([], nil) }
        var samples: [Sample] = []
        var place: SamplePlace?
        try forEachRow(of: number, query, behind: last, wanted: size, log, in: snapshot) { row, found in
            samples.append(try NameTable.sample(row, number, in: snapshot))
            place = found
            return samples.count < size
        }
        return (samples, place)
    }

    /// Returns one page after a place, and the place of its last sample if there is another page.
    static func page(
        _ query: SampleQuery, size: Int, after place: SamplePlace?, in snapshot: Snapshot
    ) throws -> SamplePage {
        let size = min(size, try query.checkedLimit(in: snapshot))
        // One more than wanted tells whether there is another page.
        let wanted = size == .max ? size : size + 1
        guard size > 0, let number = try NameTable.askedNumber(of: query.type, in: snapshot) else {
            return SamplePage(samples: [], next: nil)
        }
        var samples: [Sample] = []
        var last: SamplePlace?
        var hasMore = false
        try QueryRows.forEachRow(of: number, query, behind: place, wanted: wanted, in: snapshot) { row, found in
            hasMore = samples.count == size
            if hasMore { return false }
            samples.append(try NameTable.sample(row, number, in: snapshot))
            last = found
            return true
        }
        return SamplePage(samples: samples, next: hasMore ? last : nil)
    }

    /// Calls `body` with each row of a query that stands behind a place, in the order of the query, until it returns
    /// `false`.
    ///
    /// - Parameter wanted: the number of rows that the caller wants at most.
    static func forEachRow(
        of type: UInt32, _ query: SampleQuery, behind last: SamplePlace? = nil, wanted: Int, _ log: DamageLog? = nil,
        in snapshot: Snapshot, _ body: (StoredRow, SamplePlace) throws -> Bool
    ) throws {
        var rows = query.rows
        guard query.sort == .time else {
            return try ValueOrder.forEachRow(
                of: type, rows, behind: last?.rank, wanted: wanted, skippingDamage: log, in: snapshot
            ) {
                try body($0, SamplePlace(point: $0.point, value: $1.value))
            }
        }
        rows.resume = last?.point
        try RowReader.forEachRow(of: type, rows, wanted: wanted, skippingDamage: log, in: snapshot) { row in
            if let last = last?.point, query.order == .ascending ? row.point <= last : row.point >= last {
                return true
            }
            return try body(row, SamplePlace(point: row.point, value: nil))
        }
    }
}

/// The place of a sample in the order of a query, for reading on behind it, also in another process or on another day.
///
/// A place says where, not what: samples that were saved meanwhile appear if they stand behind it, and a sample that
/// was deleted is not needed to read on.
public struct SamplePlace: Sendable, Hashable, Codable {
    fileprivate let point: Point
    /// The value of the sample, if the query orders by value.
    fileprivate let value: Double?

    fileprivate init(point: Point, value: Double?) {
        self.point = point
        self.value = value
    }

    /// The place among values. A place from an order by time stands before all values of its point.
    fileprivate var rank: ValueOrder.Rank { ValueOrder.Rank(value: value ?? -.infinity, point: point) }

    private enum CodingKeys: String, CodingKey { case start, end, id, value }

    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        point = Point(
            start: try container.decode(Int64.self, forKey: .start),
            end: try container.decode(Int64.self, forKey: .end),
            id: try container.decode(SampleID.self, forKey: .id))
        value = try container.decodeIfPresent(Double.self, forKey: .value)
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(point.start, forKey: .start)
        try container.encode(point.end, forKey: .end)
        try container.encode(point.id, forKey: .id)
        try container.encodeIfPresent(value, forKey: .value)
    }
}

/// Some samples of a query, and the place to read on.
public struct SamplePage: Sendable {
    /// The samples, in the order of the query.
    public let samples: [Sample]
    /// The place behind which the next page begins; `nil` if there is no further sample.
    public let next: SamplePlace?
}

extension SampleReading where Self: ~Copyable {
    /// Returns one page of the samples of a query, for lists that load while they are scrolled.
    ///
    /// ```swift
    /// let query = SampleQuery(.bodyMass, order: .descending)
    /// let first = try store.read { try $0.page(query, size: 50) }
    /// if let next = first.next {
    ///     let second = try store.read { try $0.page(query, size: 50, after: next) }
    ///     print(second.samples.count)
    /// }
    /// ```
    ///
    /// A page costs the same wherever it stands, except in the order of values, where each page reads all samples.
    ///
    /// - Parameters:
    ///   - query: the samples and their order; its limit is that of a page.
    ///   - size: the maximum number of samples, at least 1.
    ///   - place: the place of the previous page, from a query of the same type and order; `nil` for the first page.
    public func page(_ query: SampleQuery, size: Int, after place: SamplePlace? = nil) throws -> SamplePage {
        let snapshot = snapshot
        try snapshot.require(size, 1, "size")
        return try snapshot.touching(query.type, query.range) {
            try QueryRows.page(query, size: size, after: place, in: snapshot)
        }
    }
}
