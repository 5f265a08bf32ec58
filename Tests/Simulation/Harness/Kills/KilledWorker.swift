import Foundation
import HealthKVSync
import Synchronization
import TestSupport

/// A process that writes to a store and syncs it with a database and another store. SIGKILL ends it at a chosen point
/// between two steps.
struct KilledWorker {
    private let folder: String
    private let doom: Doom
    private let plant: Plant?
    private let liesFirst: Bool
    private var random: SeededGenerator
    private let steps: Int

    init(_ arguments: Arguments) throws {
        folder = try arguments.text("folder")
        doom = Doom(at: Int(try arguments.number("die", default: 0)))
        plant = Plant(rawValue: arguments.text("plant", default: ""))
        liesFirst = arguments.has("lie")
        random = SeededGenerator(seed: try arguments.number("seed", default: 1))
        steps = Int(try arguments.number("steps", default: 12))
    }

    /// Performs the work and prints the number of points.
    mutating func run() async throws {
        let bench = try KillBench(folder, doom: doom, plant: plant)
        let journal = try Journal(folder + "/journal")
        try await bench.enable()
        var ids: [SampleID] = []
        for _ in 0..<steps {
            let id = ids.isEmpty || random.chance(percent: 50) ? SampleID(using: &random) : random.pick(ids)
            if !ids.contains(id) { ids.append(id) }
            let value = random.number(1..<1_000_000)
            let isDeletion = random.chance(percent: 20)
            journal.write("\(isDeletion ? "delete" : "save") \(id) \(value)")
            if liesFirst { journal.write("done") }
            doom.point()
            let start = Instant(nanoseconds: 780_000_000_000_000_000 + Int64(ids.count) * 1_000_000_000)
            let isDone = try await bench.store.write { txn in
                if isDeletion { return try txn.delete(id: id) }
                return try KillBench.put(id, value, at: start, in: &txn) != .vetoed
            }
            if !liesFirst { journal.write(isDone ? "done" : "vetoed") }
            doom.point()
            if random.chance(percent: 30) {
                let date = Instant(nanoseconds: 770_000_000_000_000_000 + Int64(random.number(0..<1_000_000)) * 1_000)
                let sample = Sample(
                    .bodyMass, Double(random.number(40..<120)), .kilogram, from: date, to: date,
                    source: Source(bundle: "scale", name: "Scale"), origin: .imported)
                bench.health.save(sample, app: "scale")
            }
            if random.chance(percent: 15), let gone = bench.health.live.first(where: { $0.app == "scale" })?.id {
                bench.health.delete { $0.id == gone }
            }
            if random.chance(percent: 60) { try await bench.sync() }
        }
        try await bench.sync()
        print("points \(doom.passed)")
    }
}

/// Counts points, and kills the process at one of them.
final class Doom: Sendable {
    private let at: Int
    private let count = Mutex(0)

    /// Zero means never.
    init(at: Int) { self.at = at }

    var passed: Int { count.withLock { $0 } }

    func point() {
        let now = count.withLock { count in
            count += 1
            return count
        }
        if now == at { kill(getpid(), SIGKILL) }
    }
}

/// A journal whose lines are in the file before `write` returns.
struct Journal {
    private let handle: FileHandle

    init(_ path: String) throws {
        if !FileManager.default.fileExists(atPath: path) { try Data().write(to: URL(fileURLWithPath: path)) }
        handle = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        try handle.seekToEnd()
    }

    func write(_ line: String) { handle.write(Data((line + "\n").utf8)) }
}

/// Two stores and a database in a folder, and the engine of one of the stores.
struct KillBench {
    let store: SampleStore
    let other: SampleStore
    let health: FileHealth
    let engine: SyncEngine

    init(_ folder: String, doom: Doom = Doom(at: 0), plant: Plant? = nil, probes: Bool = true) throws {
        var options = SampleStore.Options()
        options.source = Source(bundle: "app", name: "App")
        options.mapSize = 64 << 20
        let store = try SampleStore.open(at: folder + "/store", options: options)
        let other = try SampleStore.open(at: folder + "/other", options: options)
        let health = try FileHealth(path: folder + "/health.json") { doom.point() }
        (self.store, self.other, self.health) = (store, other, health)
        var syncing = SyncOptions()
        (syncing.pageSize, syncing.pushSize) = (3, 3)
        syncing.atStep = { _ in doom.point() }
        // With a planted mistake, probing would repair the damage that the harness must find.
        syncing.probesLatest = probes && plant == nil
        let mistake = plant.map { PlantedMistake(plant: $0, store: store) }
        func wired<Inner: Peer>(_ peer: Inner) -> WirePeer<Inner> {
            WirePeer(inner: peer, wire: Wire(), lock: {}, plant: mistake)
        }
        engine = SyncEngine(
            store: store,
            peers: [
                SyncPeer(wired(FileHealthPeer(health: health)), plan: .weightTracker),
                SyncPeer(wired(StorePeer(other, id: "other", as: "app")), plan: .everything),
            ], options: syncing)
    }

    func enable() async throws { for peer in engine.peers { try await engine.enable(peer) } }

    func sync() async throws { try await engine.sync() }

    static func put(
        _ id: SampleID, _ value: Int, at start: Instant, in txn: inout WriteTransaction
    ) throws -> SaveOutcome {
        guard var held = try txn.sample(id: id) else {
            return try txn.save(Sample(.bodyMass, Double(value), .kilogram, at: start, id: id))
        }
        (held.quantity.value, held.version) = (Double(value), 0)
        return try txn.save(held)
    }
}
