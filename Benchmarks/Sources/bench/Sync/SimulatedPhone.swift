import Foundation
import HealthKVSync
import HealthKitPeer
import HealthKitSimulator
import Histories

/// A phone with a simulated Apple Health, filled by a watch and other apps, and an app that syncs with it.
final class SimulatedPhone: Sendable {
    let device: SimulatedDevice
    let app: SimulatedApp
    private let clock: SyncClock

    /// The clock starts a day after the end of all histories, so that the first import's newest windows are not empty.
    init() throws {
        let began = Stopwatch.now()
        let start = History.end + History.day
        clock = SyncClock(
            now: { start + Int64(Stopwatch.now() - began) },
            sleep: { time in
                let left = time.nanoseconds - (start + Int64(Stopwatch.now() - began)).nanoseconds
                if left > 0 { try await Task.sleep(nanoseconds: UInt64(left)) }
            })
        device = SimulatedDevice(clock: SimulatedClock(start.date))
        app = device.install(bundle: "app.example.bench", name: "Bench")
    }

    var now: Instant { clock.now() }

    /// The app's store in a folder.
    func openStore(_ folder: String) throws -> SampleStore {
        var options = SampleStore.Options()
        options.source = Source(bundle: app.bundle, name: app.source.name)
        options.clock = clock.now
        return try SampleStore.open(at: folder, options: options)
    }

    /// The app's engine, with the adapter of HealthKit and the usual options.
    func engine(_ store: SampleStore, _ types: [SampleType: TypePlan]) -> SyncEngine {
        var options = SyncOptions()
        options.clock = clock
        let peer = HealthKitPeer(store: app.healthStore, source: app.source, hasInfoKey: { _ in true })
        return SyncEngine(store: store, peers: [SyncPeer(peer, plan: SyncPlan(types: types))], options: options)
    }

    /// The name under which the store knows Apple Health.
    static let peer: PeerID = "HealthKit"

    /// Writes a history in its order, through the apps in it.
    func fill(with history: History) throws {
        var writers: [Source: SimulatedApp] = [:]
        for batch in history {
            let kinds = batch.kinds.map { kind in
                let writer = writers[kind.source] ?? install(kind.source)
                writers[kind.source] = writer
                return (writer: writer, type: kind.type.healthType, unit: HKUnit(from: kind.unit.symbol))
            }
            var row = 0
            while row < batch.count {
                // Consecutive samples of one app are written in one call.
                let writer = kinds[Int(batch.kindOfRow[row])].writer
                var samples: [HKSample] = []
                while row < batch.count, kinds[Int(batch.kindOfRow[row])].writer === writer {
                    let kind = kinds[Int(batch.kindOfRow[row])]
                    samples.append(
                        HKQuantitySample(
                            type: kind.type, quantity: HKQuantity(unit: kind.unit, doubleValue: batch.values[row]),
                            start: Instant(nanoseconds: batch.starts[row]).date,
                            end: Instant(nanoseconds: batch.ends[row]).date, device: nil, metadata: nil))
                    row += 1
                }
                try writer.write(samples)
            }
        }
    }

    private func install(_ source: Source) -> SimulatedApp {
        device.install(
            bundle: source.bundle, name: source.name, version: source.version ?? "1.0",
            product: source.product ?? "iPhone17,1")
    }

    /// Makes an app write weights a day apart, with sync identifiers and a version.
    func weigh(_ count: Int, version: Int, by writer: SimulatedApp, isSynced: Bool = true) throws {
        let unit = HKUnit(from: HealthUnit.kilogram.symbol)
        for from in stride(from: 0, to: count, by: 1_000) {
            try writer.write(
                (from..<min(count, from + 1_000)).map { index in
                    let time = (History.end - Int64(count - index) * weighingGap(count)).date
                    let metadata: [String: Any] = [
                        HKMetadataKeySyncIdentifier: "weight.\(index)",
                        HKMetadataKeySyncVersion: NSNumber(value: version),
                    ]
                    return HKQuantitySample(
                        type: SampleType.bodyMass.healthType,
                        quantity: HKQuantity(unit: unit, doubleValue: 70 + Double(index % 100) / 10), start: time,
                        end: time, device: nil, metadata: isSynced ? metadata : nil)
                })
        }
    }

    /// A day, or less if there are more weights than days in ten years.
    private func weighingGap(_ count: Int) -> Int64 {
        min(History.day, Int64(History.days) * History.day / Int64(max(count, 1)))
    }

    /// The processor time that the simulator needs to return all pages of some types twice, without processing them: by
    /// date, as the engine counts them, and as the feed gives them.
    func answer(_ types: [SampleType]) async throws -> UInt64 {
        let (store, limit, began) = (app.healthStore, SyncOptions().pageSize, ProcessorTime.ofProcess())
        for type in types {
            var anchor: HKQueryAnchor?
            while true {
                let query = HKAnchoredObjectQueryDescriptor(
                    predicates: [.sample(type: type.healthType)], anchor: anchor, limit: limit)
                let page = try await query.result(for: store)
                if page.addedSamples.isEmpty, page.deletedObjects.isEmpty { break }
                anchor = page.newAnchor
            }
            var end = Date.distantFuture
            while true {
                let earlier = HKQuery.predicateForSamples(withStart: nil, end: end, options: .strictStartDate)
                let query = HKSampleQueryDescriptor(
                    predicates: [.sample(type: type.healthType, predicate: earlier)],
                    sortDescriptors: [SortDescriptor(\HKSample.startDate, order: .reverse)], limit: limit)
                let page = try await query.result(for: store)
                guard page.count >= limit, let first = page.last else { break }
                end = first.startDate
            }
        }
        return ProcessorTime.ofProcess() - began
    }

    /// Deletes every `distance`-th sample of some types as the user. Returns the number of deleted samples.
    func deleteOne(of distance: Int, _ types: [SampleType]) -> Int {
        var count = 0
        for type in types {
            let held = device.contents(of: type.identifier)
            for index in stride(from: 0, to: held.count, by: distance) {
                _ = device.userDeletes(held[index].uuid)
                count += 1
            }
        }
        return count
    }

    func install(_ bundle: String, _ name: String) -> SimulatedApp { device.install(bundle: bundle, name: name) }
}

extension SampleType {
    /// The HealthKit type of the same name.
    var healthType: HKQuantityType { HKQuantityType(HKQuantityTypeIdentifier(rawValue: identifier)) }
}
