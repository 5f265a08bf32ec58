import ColumnFormat
import HealthModel
import LMDB

extension Snapshot {
    func counts(of type: UInt32) throws -> TypeCounts {
        if let changed = context.state.counts[type] { return changed }
        let key = TypeCounts.key(type)
        guard let span = try view.get(tables[.summaries], key) else { return TypeCounts() }
        return try TypeCounts(span, key: key)
    }

    /// Returns the counts of every type that has any.
    func allCounts() throws -> [(type: UInt32, counts: TypeCounts)] {
        var all: [(type: UInt32, counts: TypeCounts)] = []
        var cursor = try view.cursor(tables[.summaries])
        var found = try cursor.first()
        while found {
            let key = cursor.key.copied()
            guard key.count >= 5 else { throw damaged("a summary has no place") }
            let type = key[0..<4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            // A type's counts precede its other summaries, of which there may be many.
            if key.count == 5, key[4] == 0, context.state.counts[type] == nil {
                all.append((type, try TypeCounts(cursor.value, key: key)))
            }
            guard type < .max else { break }
            found = try cursor.seek(TypeCounts.key(type + 1))
        }
        if context.state.counts.isEmpty { return all }
        return (all + context.state.counts.map { ($0.key, $0.value) }).sorted { $0.type < $1.type }
    }
}
