import Foundation
import HealthKVSync
import HealthKitPeer
import HealthKitSimulator
import Testing

/// Totals of workouts that may not be written while their workout changes.
@Suite("Totals of workouts whose type is denied") struct LeftTotalsTests {
    private static let plan = SyncPlan(types: [.workout: TypePlan(.both), .activeEnergyBurned: TypePlan(.both)])

    private func energies(_ phone: Phone) -> [Double] {
        phone.device.contents(of: SampleType.activeEnergyBurned.identifier).map(\.value)
    }

    private func set(_ sharing: SimulatedDevice.Sharing, on phone: Phone) {
        phone.device.setAccess(of: phone.app, to: SampleType.activeEnergyBurned.identifier, sharing: sharing)
    }

    /// A phone with a run of 312 kcal that both sides hold.
    private func running() async throws -> (phone: Phone, run: Sample) {
        let phone = try await Phone(Self.plan)
        try await phone.begin()
        let run = Sample.workout(
            .running, from: try phone.at(-3_600), to: try phone.at(-1_800), energy: Quantity(312, .kilocalorie))
        try await phone.store.write { _ = try $0.save(run) }
        try await phone.settle()
        #expect(energies(phone) == [312])
        return (phone, run)
    }

    @Test("The totals of a deleted workout leave Health once they may be written again")
    func totalsOfDeletedWorkout() async throws {
        let (phone, run) = try await running()
        set(.denied, on: phone)
        try await phone.settle()
        let id = run.id
        try await phone.store.write { _ = try $0.delete(id: id) }
        try await phone.settle()
        #expect(phone.device.contents(of: SampleType.workout.identifier).isEmpty)
        set(.granted, on: phone)
        for _ in 0..<2 { try await phone.settle() }
        #expect(energies(phone).isEmpty)
    }

    @Test("The totals of a workout that was edited while they could not be written are those of the workout in the end")
    func totalsOfEditedWorkout() async throws {
        let (phone, run) = try await running()
        set(.denied, on: phone)
        try await phone.settle()
        let id = run.id
        try await phone.store.write { txn in
            guard var edit = try txn.sample(id: id) else { return }
            edit.workout?.energy = Quantity(400, .kilocalorie)
            edit.version = 0
            _ = try txn.save(edit)
        }
        try await phone.settle()
        set(.granted, on: phone)
        for _ in 0..<2 { try await phone.settle() }
        #expect(energies(phone) == [400])
    }
}
