import SyncSupport
import Testing

@testable import HealthKVSync

/// A store is read in one feed of all types, so a place in it stands for those that the plan had then.
@Suite("Plans that take in more of another store")
struct WiderPlanTests {
    /// Plans that do not pull steps.
    private static let narrow = [
        SyncPlan(types: [.bodyMass: TypePlan(.both)]),
        SyncPlan(types: [.stepCount: TypePlan(.push)], others: TypePlan(.both)),
    ]

    private func steps(_ clock: ManualClock) -> [Sample] {
        (0..<5).map { Sample(.stepCount, 100 + Double($0), .count, at: clock.now - .days($0)) }
    }

    @Test("What another store held before the plan took in its type comes once it does", arguments: narrow)
    func earlier(_ plan: SyncPlan) async throws {
        let pair = try await HubPair(plan)
        let steps = steps(pair.clock)
        _ = try await pair.hub.write { try $0.save(steps) }
        for _ in 0..<2 { try await pair.sync() }
        #expect(try pair.phone.blockingRead { try $0.count() } == 0)
        let wider = pair.restarted(.everything)
        for _ in 0..<3 { try await pair.sync(wider) }
        #expect(try pair.phone.blockingRead { try $0.count(of: .stepCount) } == 5)
        #expect(try pair.isEqual)
        // A plan that stays as it is has nothing read again.
        let place = try pair.phone.blockingRead { try $0.anchors(of: "hub") }
        let again = pair.restarted(plan)
        try await pair.sync(again)
        #expect(try pair.phone.blockingRead { try $0.anchors(of: "hub") }.map(\.token) == place.map(\.token))
        try pair.finish()
    }

    @Test(
        "C27: a store that returns keeps what the plan took in only after that store was read", arguments: narrow,
        [true, false])
    func retired(_ plan: SyncPlan, isRetiredBefore: Bool) async throws {
        let pair = try await HubPair(plan)
        let steps = steps(pair.clock)
        _ = try await pair.hub.write { try $0.save(steps) }
        try await pair.sync()
        let wider = pair.restarted(.everything)
        if !isRetiredBefore { for _ in 0..<3 { try await pair.sync(wider) } }
        try await pair.retire("hub", at: pair.phone)
        for _ in 0..<2 { try await pair.sync(wider) }
        #expect(try pair.hub.blockingRead { try $0.count(of: .stepCount) } == 5)
        #expect(try pair.phone.blockingRead { try $0.count(of: .stepCount) } == 5)
        #expect(try pair.phone.blockingRead { try $0.peer("hub") }?.isRetired == false)
        try pair.finish()
    }

    @Test(
        "What a plan sends only later reaches another store, too",
        arguments: [
            SyncPlan(types: [.bodyMass: TypePlan(.both)]),
            SyncPlan(types: [.stepCount: TypePlan(.pull)], others: TypePlan(.both)),
        ])
    func sent(_ plan: SyncPlan) async throws {
        let pair = try await HubPair(plan)
        let (weight, now) = (pair.weight(70, days: 1), pair.clock.now)
        _ = try await pair.phone.write { _ = try $0.save([weight, Sample(.stepCount, 9, .count, at: now)]) }
        try await pair.sync()
        #expect(try pair.hub.blockingRead { try $0.count() } == 1)
        let wider = pair.restarted(.everything)
        try await pair.sync(wider)
        #expect(try pair.isEqual)
        #expect(try pair.hub.blockingRead { try $0.count() } == 2)
        try pair.finish()
    }
}
