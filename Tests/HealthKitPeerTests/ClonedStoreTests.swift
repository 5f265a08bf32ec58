import Foundation
import HealthKVSync
import HealthKitPeer
import HealthKitSimulator
import TestSupport
import Testing

/// A backup of a store that is opened on another phone, beside a HealthKit with other contents (SEMANTICS C21, C25,
/// C26, C28). The links of the store were made for the HealthKit of the old phone, and must not count on the new one.
@Suite("C28: a store whose backup is opened beside another HealthKit") struct ClonedStoreTests {
    @Test("Beside an empty HealthKit, each own sample is saved there once, and the store deletes nothing")
    func emptyHealth() async throws {
        // The last entry is still in the queue when the backup is made: each phone sends it to its own HealthKit.
        let phones = try await ClonedPhones { try $0.weigh(73, at: 240) }
        let new = phones.new
        try await new.begin()
        #expect(new.health == [70, 71, 72, 73])
        #expect(new.device.count(of: .save) == 1)
        try await phones.settle()
        let token = try new.token()
        try await phones.settle()
        #expect(try new.changes(since: token).isEmpty)
        #expect(new.device.count(of: .save) == 1 && new.device.count(of: .delete) == 0)
        #expect(new.health == [70, 71, 72, 73])
        #expect(try new.weights() == [70, 71, 72, 73, 80])
        #expect(try new.deletions().isEmpty)
        #expect(phones.old.health == [70, 71, 72, 73, 80])
        try phones.finish()
    }

    @Test(
        "Own samples that are there under other UUIDs are adopted without a double, and edits and deletions meet them",
        arguments: [false, true])
    func sameSamples(equalVersionReplaces: Bool) async throws {
        var options = SimulationOptions()
        options.equalVersionReplaces = equalVersionReplaces
        let phones = try await ClonedPhones(options)
        let new = phones.new
        try await phones.carry(phones.own)
        try await new.begin()
        try await new.settle()
        #expect(new.health == [70, 71, 72])
        #expect(try new.weights() == [70, 71, 72, 80])
        #expect(Set(new.heldIDs.values).isDisjoint(with: phones.old.heldIDs.values))
        #expect(try new.linkedIDs() == new.heldIDs)
        #expect(new.device.count(of: .save) == 0 && new.device.count(of: .delete) == 0)
        try new.edit(phones.own[1].id, to: 75)
        try await new.settle()
        #expect(new.health == [70, 72, 75])
        #expect(try new.weights() == [70, 72, 75, 80])
        let gone = phones.own[2].id
        try await new.store.write { _ = try $0.delete(id: gone) }
        try await phones.settle()
        #expect(new.health == [70, 75])
        #expect(try new.weights() == [70, 75, 80])
        #expect(phones.old.health == [70, 71, 72, 80])
        try phones.finish()
    }

    @Test("Beside a HealthKit with some of the own samples and other imports, the store sends the rest and keeps all")
    func otherImports() async throws {
        let phones = try await ClonedPhones()
        let new = phones.new
        try await phones.carry([phones.own[0]])
        for (value, seconds) in [(90.0, 30.0), (91, 90)] {
            try new.watch.record("BodyMass", value, "kg", from: new.clock.now.addingTimeInterval(seconds))
        }
        try await new.begin()
        // The import of the old HealthKit (80) stays in the store, and no comparison takes it away later.
        for _ in 0..<3 {
            try await phones.settle()
            #expect(new.health == [70, 71, 72, 90, 91])
            #expect(try new.weights() == [70, 71, 72, 80, 90, 91])
            new.clock.advance(by: 31 * 86_400)
        }
        #expect(new.device.count(of: .save) == 1 && new.device.count(of: .delete) == 0)
        #expect(try new.deletions().isEmpty)
        #expect(try new.status().notices.contains { $0.code == .unverified })
        try phones.finish()
    }

    @Test("A deletion in the new phone's Health app reaches the store there, and not the old phone")
    func deletedInHealth() async throws {
        let phones = try await ClonedPhones()
        let (old, new, gone) = (phones.old, phones.new, phones.own[1].id)
        try await new.begin()
        try await phones.settle()
        let (token, saves) = (try old.token(), new.device.count(of: .save))
        let object = try #require(new.ownObjects.first { $0.syncIdentifier == gone.description })
        #expect(new.device.userDeletes(object.uuid) == [object])
        for _ in 0..<2 {
            try await phones.settle()
            #expect(new.health == [70, 72])
            #expect(try new.weights() == [70, 72, 80])
        }
        #expect(try new.deletions() == [gone])
        #expect(new.device.count(of: .save) == saves)
        #expect(old.health == [70, 71, 72, 80])
        #expect(try old.weights() == [70, 71, 72, 80])
        #expect(try old.changes(since: token).isEmpty)
        try phones.finish()
    }

    @Test("Two phones that go on side by side without a cloud change nothing on each other")
    func sideBySide() async throws {
        let phones = try await ClonedPhones()
        let (old, new, edited, gone) = (phones.old, phones.new, phones.own[0].id, phones.own[1].id)
        try await new.begin()
        try await phones.settle()
        let (newToken, saves) = (try new.token(), new.device.count(of: .save))
        try old.edit(edited, to: 60)
        try await phones.settle()
        #expect(old.health == [60, 71, 72, 80])
        #expect(new.health == [70, 71, 72])
        #expect(try new.changes(since: newToken).isEmpty)
        #expect(new.device.count(of: .save) == saves)
        let (oldToken, oldSaves) = (try old.token(), old.device.count(of: .save))
        try new.edit(edited, to: 61)
        try new.weigh(90, at: 240)
        try await new.store.write { _ = try $0.delete(id: gone) }
        try await phones.settle()
        #expect(new.health == [61, 72, 90])
        #expect(try new.weights() == [61, 72, 80, 90])
        #expect(old.health == [60, 71, 72, 80])
        #expect(try old.weights() == [60, 71, 72, 80])
        #expect(try old.changes(since: oldToken).isEmpty)
        #expect(old.device.count(of: .save) == oldSaves && old.device.count(of: .delete) == 0)
        try phones.finish()
    }

    @Test("Where a cloud brought the samples, none is there twice, and edits and deletions reach both phones")
    func refilledByCloud() async throws {
        let (clock, folder) = (SimulatedClock(), TemporaryFolder())
        let devices = (0..<2).map { _ in SimulatedDevice(clock: clock) }
        let cloud = SimulatedCloud(devices)
        let old = try await Phone(clock: clock, device: devices[0])
        try await old.begin()
        let ids = try [70.0, 71, 72].map { try old.weigh($0, at: -10_000 - $0).id }
        try old.watch.record("BodyMass", 60, "kg", from: clock.now.addingTimeInterval(-20_000))
        try await old.settle()
        cloud.sync()
        try old.store.backup(to: folder.path + "/copy")
        let new = try await Phone(clock: clock, device: devices[1], folder: folder.path + "/copy")
        try await new.begin()
        try await new.settle()
        #expect(new.health == [60, 70, 71, 72])
        #expect(try new.weights() == [60, 70, 71, 72])
        try new.edit(ids[0], to: 80)
        try await new.store.write { _ = try $0.delete(id: ids[1]) }
        for phone in [new, old] {
            try await phone.settle()
            cloud.sync()
        }
        for phone in [new, old] {
            #expect(phone.health == [60, 72, 80])
            #expect(try phone.weights() == [60, 72, 80])
            #expect(try phone.pending() == 0 && phone.store.check().isClean)
        }
        try new.store.close()
    }

    @Test(
        "An entry that goes out while another type cannot be read yet does not confirm the links of the old HealthKit")
    func entryBeforeAllIsRead() async throws {
        let (clock, folder) = (SimulatedClock(), TemporaryFolder())
        let plan = SyncPlan(types: [.bodyMass: TypePlan(.both), .leanBodyMass: TypePlan(.both)])
        let old = try await Phone(plan, clock: clock)
        try await old.begin()
        for value in [70.0, 71] { try old.weigh(value, at: -value) }
        try await old.settle()
        try old.store.backup(to: folder.path + "/copy")
        let device = SimulatedDevice(clock: clock)
        let new = try await Phone(plan, clock: clock, device: device, folder: folder.path + "/copy")
        try new.weigh(75)
        // This sync reads the feed of the body mass and fails to read that of the lean body mass.
        device.fail(.changes, number: 2)
        try await new.begin()
        for _ in 0..<2 { try await new.settle() }
        #expect(new.health == [70, 71, 75])
        try new.store.close()
    }

    @Test("A comparison that the old phone began does not go on beside the new HealthKit")
    func comparisonBegunBefore() async throws {
        let (clock, folder) = (SimulatedClock(), TemporaryFolder())
        let old = try await Phone(clock: clock)
        try await old.begin()
        for hour in 1...6 {
            let date = clock.now.addingTimeInterval(Double(-hour) * 3_600)
            try old.watch.record("BodyMass", 60 + Double(hour), "kg", from: date)
        }
        try await old.settle()
        // The monthly comparison gets as far as its first page, with the two latest imports.
        var options = SyncOptions()
        options.clock = SyncClock(
            now: { [clock] in (try? Instant(clock.now)) ?? Instant(nanoseconds: 0) },
            sleep: { _ in try await Task.sleep(for: .seconds(3_600)) })
        (options.pageSize, options.checkPages) = (2, 1)
        let slow = SyncEngine(
            store: old.store, peers: [SyncPeer(PeerBench.peer(of: old.app), plan: .weightTracker)], options: options)
        clock.advance(by: 31 * 86_400)
        try await slow.sync()
        try old.store.backup(to: folder.path + "/copy")
        let device = SimulatedDevice(clock: clock)
        let new = try await Phone(clock: clock, device: device, folder: folder.path + "/copy")
        // Older than all imports, so that a comparison takes their absence for a deletion.
        try new.watch.record("BodyMass", 50, "kg", from: clock.now.addingTimeInterval(-90 * 86_400))
        try await new.begin()
        for _ in 0..<3 {
            try await new.settle()
            #expect(try new.weights() == [50, 61, 62, 63, 64, 65, 66])
            clock.advance(by: 31 * 86_400)
        }
        try new.store.close()
    }
}

/// A phone, and another one whose store is a backup of the first one's, with a HealthKit of its own and no cloud
/// between them. At the backup the old phone has the own weights 70, 71 and 72, and 80 of a watch.
private struct ClonedPhones {
    let old: Phone
    let new: Phone
    /// The samples that the app wrote on the old phone, in the order of their dates.
    let own: [Sample]
    private let folder: TemporaryFolder

    /// - Parameters:
    ///   - options: The rules of the new phone's HealthKit.
    ///   - last: What happens on the old phone right before the backup.
    init(
        _ options: SimulationOptions = SimulationOptions(), last: (Phone) throws -> Void = { _ in }
    ) async throws {
        folder = TemporaryFolder()
        old = try await Phone()
        try await old.begin()
        own = [try old.weigh(69), try old.weigh(71, at: 60), try old.weigh(72, at: 120)]
        try old.watch.record("BodyMass", 80, "kg", from: old.clock.now.addingTimeInterval(180))
        try await old.settle()
        // A sample of a later version than the first one.
        try old.edit(own[0].id, to: 70)
        try await old.settle()
        try last(old)
        let copy = folder.path + "/copy"
        try old.store.backup(to: copy)
        new = try await Phone(
            clock: old.clock, device: SimulatedDevice(clock: old.clock, options: options), folder: copy)
    }

    /// Brings own samples to the new HealthKit as the old one holds them, but under other UUIDs.
    func carry(_ samples: [Sample]) async throws {
        let names = Set(samples.map(\.id.description))
        let type = HKQuantityType(HKQuantityTypeIdentifier(rawValue: SampleType.bodyMass.identifier))
        let held = try await HKSampleQueryDescriptor(
            predicates: [.sample(type: type)], sortDescriptors: [SortDescriptor(\HKSample.startDate)]
        ).result(for: old.app.healthStore)
        let carried = held.compactMap { $0 as? HKQuantitySample }.filter { object in
            names.contains(object.metadata?[HKMetadataKeySyncIdentifier] as? String ?? "")
        }
        #expect(carried.count == samples.count)
        try new.app.write(
            carried.map { object in
                HKQuantitySample(
                    type: type, quantity: object.quantity, start: object.startDate, end: object.endDate,
                    device: object.device, metadata: object.metadata)
            })
    }

    func settle() async throws { for phone in [old, new] { try await phone.settle() } }

    /// Checks what holds at the end of every test, and closes the copy.
    func finish() throws {
        for phone in [old, new] {
            let status = try phone.status()
            #expect(status.issue == nil)
            #expect(status.pending + status.parked + status.quarantined == 0)
            #expect(status.notices.contains { $0.code == .restored } == (phone.device === new.device))
            #expect(try phone.linkedIDs() == phone.heldIDs)
            #expect(phone.ownObjects.count == phone.heldIDs.count)
            #expect(try phone.store.read { try $0.conflicts() }.isEmpty)
            #expect(try phone.store.check().isClean)
        }
        try new.store.close()
    }
}

extension Phone {
    /// What HealthKit holds of this app.
    fileprivate var ownObjects: [SimulatedSample] {
        device.contents(of: SampleType.bodyMass.identifier).filter { $0.source == app.bundle }
    }

    /// The ids of this app's samples in HealthKit, by their ids in the store.
    fileprivate var heldIDs: [SampleID: SampleID] {
        let ids = ownObjects.compactMap { object in
            object.syncIdentifier.flatMap { SampleID($0) }.map { ($0, SampleID(object.uuid)) }
        }
        return Dictionary(ids) { $1 }
    }

    /// The ids in HealthKit that the store knows, confirmed or not, by the ids in the store.
    fileprivate func linkedIDs() throws -> [SampleID: SampleID] {
        let links = try store.read { try $0.links(of: "HealthKit") }.filter(\.isHeldThere)
        return Dictionary(links.map { ($0.sample, $0.idAtPeer) }) { $1 }
    }

    fileprivate func token() throws -> ChangeToken { try store.read { $0.currentToken } }

    /// The samples that were changed or deleted after a token.
    fileprivate func changes(since token: ChangeToken) throws -> [Change] {
        try store.read { try $0.changes(since: token).changes }
    }

    /// The ids of the samples of which the store keeps a deletion.
    fileprivate func deletions() throws -> [SampleID] { try store.read { try $0.deletions().deletions }.map(\.id) }

    fileprivate func status() throws -> PeerStatus { try #require(try engine.status().peers["HealthKit"]) }
}
