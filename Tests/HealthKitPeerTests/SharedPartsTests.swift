import HealthKVSync
import HealthKitPeer
import Testing

/// Two stores of one app on one HealthKit.
@Suite("Edits through HealthKit")
struct SharedPartsTests {
    @Test("C1: an edit reaches another device in all parts but the count, which HealthKit makes by itself")
    func parts() async throws {
        let first = try await Phone()
        let second = try await Phone(clock: first.clock, device: first.device)
        for phone in [first, second] { try await phone.begin() }
        var sample = Sample(.bodyMass, 72, .kilogram, at: try first.at(-60), group: "lunch")
        (sample.timeZone, sample.device, sample.count) = ("Europe/Berlin", Device(name: "Scale"), 3)
        let saved = sample
        _ = try await first.store.write { try $0.save(saved) }
        for phone in [first, second] { try await phone.settle() }
        var edit = try #require(try second.store.blockingRead { try $0.sample(id: saved.id) })
        (edit.group, edit.timeZone, edit.device) = ("dinner", "Asia/Tokyo", Device(name: "Balance"))
        edit.version = 0
        let edited = edit
        _ = try await second.store.write { try $0.save(edited) }
        for phone in [second, first] { try await phone.settle() }
        let held = try #require(try first.store.blockingRead { try $0.sample(id: saved.id) })
        #expect(held.version == 2)
        #expect(held.group == "dinner" && held.timeZone == "Asia/Tokyo" && held.device == Device(name: "Balance"))
        #expect(held.count == 3)
        #expect(first.health == [72])
    }
}
