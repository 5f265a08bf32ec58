import ColumnFormat
import HealthModel
import LMDB

/// The unfinished mass operations.
enum IntentTable {
    /// Returns the lanes that an operation may touch.
    static func lanes(of intent: Intent, in snapshot: Snapshot) throws -> [Lane] {
        var types = try ChunkTable.typesWithChunks(in: snapshot)
        if case .range(let type, _, _) = intent.scope { types = types.filter { $0 == type } }
        return types.flatMap { type in DurationClass.allCases.map { Lane(type: type, duration: $0) } }
    }

    /// Returns the unfinished mass operations.
    static func loadIntents(in snapshot: Snapshot) throws -> [Intent] {
        var intents: [Intent] = []
        var cursor = try snapshot.view.cursor(snapshot.tables[.upkeep])
        var found = try cursor.seek([Intent.upkeepKind])
        while found, cursor.key.copied().first == Intent.upkeepKind {
            intents.append(try Intent(cursor.value, key: cursor.key.copied()))
            found = try cursor.next()
        }
        return intents
    }
}
