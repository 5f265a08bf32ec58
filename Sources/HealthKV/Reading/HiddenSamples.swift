import ColumnFormat
import HealthModel

/// The samples that unfinished mass operations hide: they are deleted, and their tombstones come step by step.
enum HiddenSamples {
    /// Calls `body` with the deletion of each sample that an operation removes and for which it leaves a tombstone.
    static func forEachDeletion(in snapshot: Snapshot, _ body: (DeletedSample) throws -> Void) throws {
        let intents = snapshot.context.state.intents
        var lanes: Set<Lane> = []
        for intent in intents where intent.leavesTombstones {
            lanes.formUnion(try IntentTable.lanes(of: intent, in: snapshot))
        }
        for lane in lanes.sorted() {
            try ChunkTable.forEachChunk(lane, from: .least, to: .greatest, in: snapshot) { chunk in
                guard try intents.contains(where: { try ChunkTable.mayHold(chunk, $0, in: snapshot) }) else {
                    return true
                }
                for row in try ChunkTable.allRows(chunk, in: snapshot) {
                    let source = try NameTable.revision(row.revision, in: snapshot).sourceNumber
                    // The operation that a step asks, too.
                    guard let intent = intents.first(where: { $0.hides(row, type: lane.type, source: source) }),
                        intent.leavesTombstones
                    else { continue }
                    var buried = row
                    buried.version = row.versionOfDeletion
                    let tombstone = Tombstone(
                        of: buried, type: lane.type, source: source, clock: intent.clock.covering(row.clock),
                        commit: intent.commit, ordinal: intent.ordinal, time: intent.time)
                    try body(ChangeFeed.deletedSample(tombstone, in: snapshot))
                }
                return true
            }
        }
    }
}

extension SampleReading where Self: ~Copyable {
    /// Calls `body` with each sample that a deletion of a range or a source removes and that has no tombstone yet.
    package func forEachDeletionUnderWay(_ body: (DeletedSample) throws -> Void) throws {
        try HiddenSamples.forEachDeletion(in: snapshot, body)
    }
}
