import ColumnFormat
import HealthModel

/// Reads the rows of a query in the order of their values. There is no index of values: all rows of the query are read,
/// and no more are held at once than twice the number that is wanted.
enum ValueOrder {
    /// The value of a row in the unit of its type, and its point, which decides between equal values.
    struct Rank: Comparable {
        let value: Double
        let point: Point

        static func < (one: Rank, other: Rank) -> Bool {
            one.value == other.value ? one.point < other.point : one.value < other.value
        }
    }

    /// Calls `body` with each row behind a rank, smallest value first or greatest first, until it returns `false`.
    ///
    /// - Parameter wanted: the number of rows that the caller wants at most.
    static func forEachRow(
        of type: UInt32, _ query: RowQuery, behind last: Rank?, wanted: Int, skippingDamage log: DamageLog? = nil,
        in snapshot: Snapshot, _ body: (StoredRow, Rank) throws -> Bool
    ) throws {
        var unit = snapshot.unit(of: try NameTable.type(type, in: snapshot))
        let isAscending = query.order == .ascending
        func comes(_ one: Rank, before other: Rank) -> Bool { isAscending ? one < other : other < one }
        var kept: [(rank: Rank, row: StoredRow)] = []
        var limit: Rank?
        let room = wanted > .max / 2 ? Int.max : max(2 * wanted, 1_024)
        func settle() {
            kept.sort { comes($0.rank, before: $1.rank) }
            if kept.count > wanted { kept.removeLast(kept.count - wanted) }
            if kept.count == wanted { limit = kept.last?.rank }
        }
        try RowReader.forEachRow(of: type, query, skippingDamage: log, in: snapshot) { row in
            let own = try NameTable.unit(row.unit, in: snapshot)
            if unit == nil { unit = own }
            let value = try value(row.value, own, in: unit!, type, snapshot)
            let rank = Rank(value: value, point: row.point)
            if let last, !comes(last, before: rank) { return true }
            if let limit, !comes(rank, before: limit) { return true }
            kept.append((rank, row))
            if kept.count >= room { settle() }
            return true
        }
        settle()
        for (rank, row) in kept { guard try body(row, rank) else { return } }
    }

    private static func value(
        _ value: Double, _ own: HealthUnit, in unit: HealthUnit, _ type: UInt32, _ snapshot: borrowing Snapshot
    ) throws -> Double {
        // Without a canonical unit, the order must not depend on which sample is read first.
        let isOrdered = snapshot.unit(of: try NameTable.type(type, in: snapshot)) != nil
        guard isOrdered ? own.isCompatible(with: unit) : own == unit else {
            throw StoreError(
                .mixedUnits, path: snapshot.context.path,
                "\(try NameTable.type(type, in: snapshot)) has samples in \(own) and in \(unit), "
                    + "which have no common order"
            )
        }
        let converted = try own.convert(value, to: unit)
        // An older release stored values that are not finite (SEMANTICS C32); NaN has no place in an order.
        return converted.isNaN ? -.greatestFiniteMagnitude : converted
    }
}
