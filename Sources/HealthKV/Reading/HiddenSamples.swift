import ColumnFormat
import HealthModel

/// The samples that unfinished mass operations hide: they are deleted, and their tombstones come step by step.
enum HiddenSamples {
    /// Calls `body` with the deletion of each sample that an operation removes and for which it leaves a tombstone.
    ///
    /// - Parameter skippingDamage: whether to leave out what cannot be read.
    static func forEachDeletion(
        skippingDamage: Bool, in snapshot: Snapshot, _ body: (DeletedSample) throws -> Void
    ) throws {
        let intents = snapshot.context.state.intents
        var lanes: Set<Lane> = []
        for intent in intents where intent.leavesTombstones {
            lanes.formUnion(try IntentTable.lanes(of: intent, in: snapshot))
        }
        for lane in lanes.sorted() {
            for key in try ChunkTable.chunkKeys(lane, in: snapshot) {
                var deletions: [DeletedSample] = []
                do {
                    try ChunkTable.withChunk(key, in: snapshot) { chunk in
                        deletions = try HiddenSamples.deletions(of: chunk, by: intents, in: snapshot)
                    }
                } catch  where skippingDamage && StoreError.isDamage(error) {}
                for deletion in deletions { try body(deletion) }
            }
        }
    }

    private static func deletions(
        of chunk: HotChunk, by intents: [Intent], in snapshot: Snapshot
    ) throws -> [DeletedSample] {
        let type = chunk.key.lane.type
        guard try intents.contains(where: { try ChunkTable.mayHold(chunk, $0, in: snapshot) }) else { return [] }
        return try ChunkTable.allRows(chunk, in: snapshot).compactMap { row in
            let source = try NameTable.revision(row.revision, in: snapshot).sourceNumber
            // The operation that a step asks, too.
            guard let intent = intents.first(where: { $0.hides(row, type: type, source: source) }),
                intent.leavesTombstones
            else { return nil }
            var buried = row
            buried.version = row.versionOfDeletion
            let tombstone = Tombstone(
                of: buried, type: type, source: source, clock: intent.clock.covering(row.clock),
                commit: intent.commit, ordinal: intent.ordinal, time: intent.time)
            return try ChangeFeed.deletedSample(tombstone, in: snapshot)
        }
    }
}

extension SampleReading where Self: ~Copyable {
    /// Calls `body` with each sample that a deletion of a range or a source removes and that has no tombstone yet.
    ///
    /// - Parameter skippingDamage: whether to leave out what cannot be read.
    package func forEachDeletionUnderWay(skippingDamage: Bool, _ body: (DeletedSample) throws -> Void) throws {
        try HiddenSamples.forEachDeletion(skippingDamage: skippingDamage, in: snapshot, body)
    }
}
