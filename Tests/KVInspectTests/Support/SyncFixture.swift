import Foundation
import HealthKV
import Testing

/// A store that has synced with two peers.
struct SyncFixture {
    static let time = Instant("2024-06-01T10:00:00Z")!
    let weight: SampleID
    /// One waiting, one parked and one quarantined operation.
    let operations: [PendingOperation]

    /// Fills the store `name`, which has the lines of ``Fixture``.
    init(_ bench: Workbench, _ name: String) throws {
        try bench.load(name, Fixture.lines)
        let store = try SampleStore.open(at: bench.path(name))
        let id = try #require(SampleID(Fixture.weight))
        let lost = try JSONEncoder().encode(try #require(try store.read { try $0.sample(id: id) }))
        operations = try store.write { txn in
            for peer: PeerID in ["health", "tablet"] {
                try txn.setPeer(RegisteredPeer(id: peer, registered: SyncFixture.time, lastSeen: SyncFixture.time))
                for type in [SampleType.stepCount, .bodyMass] {
                    try txn.setAnchor(
                        Anchor(peer: peer, type: type, token: [1, 171], time: SyncFixture.time, outcome: "drained"))
                }
            }
            try txn.appendAudit(event: "edit.replaced", sample: id, displaced: Array(lost))
            try txn.appendAudit(event: "other", sample: SampleID(), displaced: [255])
            return try [
                PendingOperation(peer: "health", kind: .save, sample: id, version: 3),
                PendingOperation(
                    peer: "health", kind: .delete, sample: SampleID(), version: 1, nextTry: SyncFixture.time,
                    state: .parked, reason: "locked"),
                PendingOperation(
                    peer: "tablet", kind: .save, sample: SampleID(), version: 1, attempts: 4,
                    nextTry: SyncFixture.time, state: .quarantined, reason: "not shareable"),
            ].map { try txn.enqueue($0) }
        }
        weight = id
        try store.close()
    }
}
