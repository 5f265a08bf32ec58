import ColumnFormat
import LMDB
import Testing

@testable import HealthKV

/// Something wrong that is put into a good store behind its back, with every checksum right unless the fault is about
/// them, and the one kind of finding that it must give.
struct PlantedFault: Sendable, CustomTestStringConvertible {
    let name: String
    let kind: Finding.Kind
    let plant: @Sendable (SampleStore) throws -> Void

    var testDescription: String { "\(kind): \(name)" }

    init(_ kind: Finding.Kind, _ name: String, raw plant: @escaping @Sendable (SampleStore) throws -> Void) {
        (self.kind, self.name, self.plant) = (kind, name, plant)
    }

    /// A fault that is committed as any change is.
    init(
        _ kind: Finding.Kind, _ name: String,
        _ change: @escaping @Sendable (inout HealthKV.WriteTransaction) throws -> Void
    ) {
        self.init(kind, name, raw: { store in try store.core.transact { try change(&$0) } })
    }

    static let all = ofChunks + ofIdentity + ofNames + ofRecords

    static let ofChunks = [
        PlantedFault(.chunkUnreadable, "the last byte of a chunk is turned") { txn in
            try change(&txn, .chunks) { $0[$0.count - 1] ^= 1 }
        },
        PlantedFault(.newerFormat, "a chunk has the version after ours") { txn in
            try change(&txn, .chunks) { NewerFormatTests.raise(&$0) }
        },
        PlantedFault(.valueNotFinite, "a value is infinite") { txn in
            try rewriteFirstChunk(&txn) { $0.rows[0].value = .infinity }
        },
        PlantedFault(.chunkGap, "a chunk ends before the next begins") { txn in
            try rewriteFirstChunk(&txn) { chunk in
                chunk.bounds.upper = chunk.rows.last!.point
                chunk.bounds.upper.id = .max
            }
        },
        PlantedFault(.detailsMismatch, "the last byte of details is turned") { txn in
            try change(&txn, .details) { $0[$0.count - 1] ^= 1 }
        },
        PlantedFault(.detailsMismatch, "a chunk has no details") { txn in
            try txn.remove(.details, try GoodStore.firstChunk(txn.snapshot).bounds.key.bytes)
        },
        PlantedFault(.detailsMismatch, "details have no chunk") { txn in
            let lane = Lane(type: try NameTable.number(of: .bodyMass, in: txn.snapshot)!, duration: .long)
            let key = ChunkKey(lane: lane, lower: .least)
            let empty = txn.environment.encoder.encodeEmpty(key: key, upper: .greatest, stamp: txn.stamp)
            try txn.put(.details, key.bytes, empty.details)
        },
        PlantedFault(.shadowWrong, "a sample that is alone at its time is shadowed") { txn in
            try turnMark(&txn, of: GoodStore.lonely)
        },
        PlantedFault(.shadowWrong, "both samples of one time show") { txn in
            let pair = [GoodStore.pair.0, GoodStore.pair.1].compactMap { try? SampleLookup.find($0, in: txn.snapshot) }
            try turnMark(&txn, of: pair.first { $0.row.isShadowed }!.row.id)
        },
        PlantedFault(.shadowWrong, "a type that shadows nothing has a shadowed sample") { txn in
            try turnMark(&txn, of: GoodStore.firstChunk(txn.snapshot).rows[0].id)
        },
        PlantedFault(.countsWrong, "a count is off by one") { txn in
            let type = try NameTable.number(of: .stepCount, in: txn.snapshot)!
            var counts = try SummaryTable.counts(of: type, in: txn.snapshot)
            counts.sources[counts.sources.keys.sorted()[0]]!.samples += 1
            txn.context.state.counts[type] = counts
            txn.state.isChanged = true
        },
        PlantedFault(.summaryWrong, "the summary of many samples is gone") { txn in
            let type = try NameTable.number(of: .stepCount, in: txn.snapshot)!
            let block = SummaryPeriod.block(of: try GoodStore.firstChunk(txn.snapshot).rows[0].start)
            #expect(try txn.remove(.summaries, SummaryTable.key(type, block)))
        },
    ]

    static let ofIdentity = [
        PlantedFault(.duplicateID, "a sample stands at a second time under its id") { txn in
            let first = try GoodStore.firstChunk(txn.snapshot)
            var row = first.rows[0]
            row.start += 40 * SummaryPeriod.block
            row.end += 40 * SummaryPeriod.block
            row.commit = txn.commit
            row.ordinal = txn.state.takeOrdinal()
            try LaneWriter.apply(first.bounds.key.lane, inserts: [row], in: &txn)
            try IdentityIndex.reindex(from: nil, to: (row, first.bounds.key.lane), in: &txn)
        },
        PlantedFault(.identityMissing, "the index loses an entry of a run") { txn in
            let first = try GoodStore.firstChunk(txn.snapshot)
            try IdentityIndex.addRecent(
                IdentityIndex.entries(of: first.rows[0], first.bounds.key.lane, in: txn)[0], -1, in: &txn)
        },
        PlantedFault(.identityMissing, "the index loses a recent entry") { txn in
            let found = try SampleLookup.find(GoodStore.lonely, in: txn.snapshot)!
            try IdentityIndex.addRecent(IdentityIndex.entries(of: found.row, found.lane, in: txn)[0], -1, in: &txn)
        },
        PlantedFault(.identityUnreadable, "the header counts one recent entry too many") { txn in
            txn.state.header.recentEntries += 1
            txn.state.isChanged = true
        },
        PlantedFault(.identityUnreadable, "the partitions end before the last hash") { txn in
            var partition = try IdentityIndex.partition(of: 0, in: txn.snapshot)!
            partition.upper -= 1
            let key = IdentityIndex.partitionKey(partition.lower)
            try txn.put(.identity, key, partition.value(key: key, stamp: txn.stamp))
        },
        PlantedFault(.identityUnreadable, "a run holds one entry less than its header says") { txn in
            var partition = try IdentityIndex.partition(of: 0, in: txn.snapshot)!
            partition.runs[0].entries += 1
            let key = IdentityIndex.partitionKey(partition.lower)
            try txn.put(.identity, key, partition.value(key: key, stamp: txn.stamp))
        },
        PlantedFault(.tombstoneOfLiveSample, "a tombstone is made for a sample that stays") { txn in
            let found = try SampleLookup.find(GoodStore.lonely, in: txn.snapshot)!
            try TombstoneTable.bury(
                found.row, found.lane, clock: txn.tick(), commit: txn.commit, ordinal: txn.state.takeOrdinal(),
                time: txn.environment.now().nanoseconds, in: &txn)
        },
    ]

    static let ofNames = [
        PlantedFault(.nameMissing, "both copies of a source's name are gone") { txn in
            let name = try scale(txn.snapshot)
            try txn.remove(.names, name.key)
            try txn.remove(.namesReverse, name.reverse)
        },
        PlantedFault(.nameCopiesDiffer, "the copy under the number is gone") { txn in
            try txn.remove(.names, try scale(txn.snapshot).key)
        },
        PlantedFault(.nameCopiesDiffer, "the copy under the name is gone") { txn in
            try txn.remove(.namesReverse, try scale(txn.snapshot).reverse)
        },
        PlantedFault(.nameCopiesDiffer, "the copy under the name says another number") { txn in
            let name = try scale(txn.snapshot)
            let bytes = NameCoding.encode(source: GoodStore.scale.identity)
            let value = NameTable.value(.namesReverse, key: name.reverse, 99, bytes, stamp: txn.stamp)
            try txn.put(.namesReverse, name.reverse, value)
        },
    ]

    static let ofRecords = [
        PlantedFault(
            .header, "a transaction has passed the header by",
            raw: { store in
                try store.core.onWriter { [core = store.core] in try Upkeep.moveJournal(in: core) }
                let file = store.core.file
                var lmdb = try store.core.beginWrite(file)
                try lmdb.put(file.tables[.meta], StoreHeader.key, try file.header().value)
                try lmdb.commit()
            }),
        PlantedFault(.changeMissing, "a commit has no record in the feed") { txn in
            let found = try SampleLookup.find(GoodStore.lonely, in: txn.snapshot)!
            #expect(try txn.remove(.changes, ChangeLog.key(found.row.commit)))
        },
        PlantedFault(.queueWrong, "an operation has lost its place") { txn in
            try PeerTables.forget(
                PeerKey.place("p", GoodStore.lonely, txn.state.header.hashKey), as: PendingPlace.self, in: &txn)
        },
        PlantedFault(.linksDiffer, "a link is gone from one side") { txn in
            try PeerTables.forget(
                LinkKey.recent(peer(txn, "p"), .bySample, GoodStore.lonely), as: RecentLink.self, in: &txn)
        },
        PlantedFault(.linksDiffer, "a chunk of links is gone") { txn in
            try txn.remove(.links, try blocks(txn, .chunk)[0])
        },
        PlantedFault(.linksDiffer, "hints lead to other links") { txn in
            var encoder = LinkHintEncoder(pageSize: 4_096, precision: LinkHint.Precision(links: GoodStore.links))
            let keys = try blocks(txn, .hints)
            #expect(keys.count == 1)
            let hints = (0..<10).map { LinkHint(idAtPeer: LinkKey.hash(keys[0]) + $0, sample: 5) }
            try txn.put(.links, keys[0], encoder.block(hints[...], stamp: txn.stamp) { _ in keys[0] }.value)
        },
        PlantedFault(.linksDiffer, "a packed link names no sample") { txn in
            let key = try blocks(txn, .chunk)[0]
            var links = try LinkTable.packedChunk(peer(txn, "r"), 0, from: 0, in: txn.snapshot)!.links
            // A hint has fewer bits of the hash.
            links[1].hash ^= 1
            var encoder = LinkChunkEncoder(pageSize: 65_536)
            try txn.put(.links, key, encoder.chunk(links[...], stamp: txn.stamp) { _ in key }.value)
        },
        PlantedFault(.recordUnreadable, "a chunk of links stands behind one of greater hashes") { txn in
            let peer = peer(txn, "r")
            let links = try LinkTable.packedChunk(peer, 0, from: 0, in: txn.snapshot)!.links
            var encoder = LinkChunkEncoder(pageSize: 4_096)
            let chunk = encoder.chunk(links[1...], stamp: txn.stamp) { LinkKey.block(peer, .chunk, 0, $0) }
            try txn.put(.links, chunk.key, chunk.value)
        },
        PlantedFault(.recordUnreadable, "an anchor ends too soon") { txn in
            let key = try anchorKey(txn.snapshot)
            var record = RecordWriter()
            record.append(7 as UInt8)
            try txn.put(.anchors, key, record.value(table: .anchors, key: key, stamp: txn.stamp))
        },
        PlantedFault(.recordsOutdated, "an anchor is of an earlier commit than the sum in the header knows") { txn in
            let key = try anchorKey(txn.snapshot)
            let anchor = try PeerTables.record(key, as: Anchor.self, in: txn.snapshot)!
            let older = StoredSync(anchor, key: SyncKey(key), stamp: CommitStamp(commit: 0, session: 5)).recordBytes
            try txn.lmdb.put(txn.context.tables[.anchors], key, older)
            txn.state.isChanged = true
        },
    ]
}

extension PlantedFault {
    /// Changes the first value of a table.
    private static func change(
        _ txn: inout HealthKV.WriteTransaction, _ table: TableCode, _ body: (inout [UInt8]) -> Void
    ) throws {
        let (key, value) = try GoodStore.first(txn.snapshot, table)
        var bytes = value
        body(&bytes)
        try txn.put(table, key, bytes)
    }

    private static func rewriteFirstChunk(
        _ txn: inout HealthKV.WriteTransaction, _ body: (inout LoadedChunk) -> Void
    ) throws {
        var chunk = try GoodStore.firstChunk(txn.snapshot)
        body(&chunk)
        let (encoder, bounds) = (txn.environment.encoder, chunk.bounds)
        let plan = encoder.plan(chunk.rows[...])
        try ChunkTable.put(
            bounds.key, encoder.encodeHot(plan, key: bounds.key, upper: bounds.upper, stamp: txn.stamp),
            encoder.encodeDetails(chunk.rows[...], key: bounds.key, upper: bounds.upper, stamp: txn.stamp), in: &txn)
    }

    private static func turnMark(_ txn: inout HealthKV.WriteTransaction, of id: SampleID) throws {
        let found = try SampleLookup.find(id, in: txn.snapshot)!
        var row = found.row
        row.flags.formSymmetricDifference(.shadowed)
        try ShadowMarks.replaceMarks(found.lane, [row], in: &txn)
    }

    /// The keys of the two copies of a source's name.
    private static func scale(_ snapshot: borrowing Snapshot) throws -> (key: [UInt8], reverse: [UInt8]) {
        let number = try NameTable.number(of: GoodStore.scale.identity, in: snapshot)!
        let bytes = NameCoding.key(of: GoodStore.scale.identity)
        return (NameTable.key(.source, number), NameTable.reverseKey(.source, bytes, snapshot.header.hashKey))
    }

    private static func peer(_ txn: borrowing HealthKV.WriteTransaction, _ name: String) -> [UInt8] {
        PeerKey.peer(PeerID(name), txn.state.header.hashKey)
    }

    /// The keys of a kind of blocks of the peer with packed links.
    private static func blocks(
        _ txn: borrowing HealthKV.WriteTransaction, _ kind: LinkKey.Kind
    ) throws -> [[UInt8]] {
        try LinkTable.linkKeys(peer(txn, "r"), kind, in: txn.snapshot)
    }

    private static func anchorKey(_ snapshot: borrowing Snapshot) throws -> [UInt8] {
        PeerKey.anchor("p", try NameTable.number(of: .stepCount, in: snapshot)!, "", snapshot.header.hashKey)
    }
}
