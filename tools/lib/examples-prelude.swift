// Declarations that the examples of the documentation use. tools/examples compiles each example as a method of `Given`,
// together with this file, and runs none. Declare a name here if several examples use it, otherwise in the example.
import Foundation
import HealthKVSync
import LMDB

/// Values that examples mutate, or borrow and cannot copy. All others are global, so that closures may capture them.
struct Given: ~Copyable {
    var token: ChangeToken?
    var transaction: LMDB.WriteTransaction
}

let store: SampleStore = unspecified()
let folder = ""
let now = Instant(nanoseconds: 0)
let a = now
let b = now
let calendar = Calendar(identifier: .gregorian)
let monday = Date()

/// A history that yields batches.
struct History {
    func batches() -> [SampleBatch] { unspecified() }
}

let history = History()

func show(_ sample: Sample) {}
func show(_ progress: SyncProgress) {}
func showSettingsLink(_ message: String) {}
func upload(_ samples: [Sample]) {}

let sync: SyncEngine = unspecified()
let backup: SampleStore = unspecified()
let other: SampleStore = unspecified()
let sample = Sample(.bodyMass, 72.4, .kilogram, at: now)

/// A server for tests, and the peer that somebody wrote for it.
final class TestServer: Sendable {
    func write(_ sample: Sample) throws {}
    func delete(at time: Instant) throws {}
}

struct ServerPeer: DatabasePeer {
    init(_ server: TestServer) {}
    var id: PeerID { unspecified() }
    var traits: DatabaseTraits { unspecified() }
    func availability() async -> PeerAvailability { unspecified() }
    func requestAuthorization(_ request: AuthorizationRequest) async throws(PeerError) {}
    func authorization(of type: SampleType) async -> TypeAuthorization { unspecified() }
    func pull(_ request: PullRequest) async throws(PeerError) -> PullPage { unspecified() }
    func enumerate(_ request: EnumerationRequest) async throws(PeerError) -> EnumerationPage { unspecified() }
    func push(_ operations: [PushOperation]) async -> [PushOutcome] { unspecified() }
    func wakeUps(for types: Set<SampleType>) -> AsyncStream<WakeUp> { unspecified() }
}

/// The declarations of CryptoKit that an example uses.
struct SymmetricKey {}

enum AES {
    enum GCM {
        struct SealedBox {
            init(combined: some DataProtocol) throws {}
            var combined: Data? { nil }
        }

        static func seal(
            _ message: some DataProtocol, using key: SymmetricKey, authenticating data: some DataProtocol
        ) throws -> SealedBox { unspecified() }
        static func open(
            _ box: SealedBox, using key: SymmetricKey, authenticating data: some DataProtocol
        ) throws -> Data { unspecified() }
    }
}

struct KeychainSealer: StoreSealer {
    let key: SymmetricKey
    func seal(_ bytes: [UInt8], binding: [UInt8]) throws -> [UInt8] { unspecified() }
    func open(_ sealed: [UInt8], binding: [UInt8]) throws -> [UInt8] { unspecified() }
}

let key = SymmetricKey()
let sealer: any StoreSealer = unspecified()

let environment: LMDB.Environment = unspecified()
let table: LMDB.Table = unspecified()

struct PersonID: KeyCodec {
    var keyBytes: [UInt8] { unspecified() }
    init(keyBytes: RawSpan) throws { unspecified() }
}

struct Person: RecordCodec {
    var recordBytes: [UInt8] { unspecified() }
    init(recordBytes: RawSpan) throws { unspecified() }
}

let id: PersonID = unspecified()
let person: Person = unspecified()

func unspecified() -> Never { fatalError("Examples are compiled and never run.") }
func unspecified<Value>() -> Value { fatalError("Examples are compiled and never run.") }
