import Foundation
import HealthKVSync
import HealthKitPeer
import HealthKitSimulator
import Testing

/// Authorization of the Diet App: its requests, their times and their effects (document 004).
@Suite struct DietAccessTests {
    private let nutrients: Set<SampleType> = [
        .dietaryEnergyConsumed, .dietaryProtein, .dietaryCarbohydrates, .dietaryFatTotal, .dietaryFiber, .dietarySugar,
        .dietarySodium, .dietaryCholesterol, .dietaryFatSaturated,
    ]

    @Test("The authorization request has all types that the document lists")
    func fullRequest() {
        let request = SyncPlan.dietApp.request(.all)
        #expect(
            request.read == [
                .bodyMass, .bodyFatPercentage, .leanBodyMass, .activeEnergyBurned, .basalEnergyBurned, .stepCount,
                .workout, .dietaryWater,
            ])
        #expect(request.write == nutrients.union([.dietaryWater, .bodyMass]))
    }

    @Test("The onboarding requests only the few types that the document names")
    func onboardingRequest() {
        let request = SyncPlan.dietApp.request(.onboarding)
        #expect(request.read == [.bodyMass, .activeEnergyBurned, .workout])
        let written: Set<SampleType> = [
            .dietaryEnergyConsumed, .dietaryProtein, .dietaryCarbohydrates, .dietaryFatTotal,
        ]
        #expect(request.write == written)
    }

    @Test("With requests in two stages, types that were not requested yet wait, and sync once they are granted")
    func stages() async throws {
        try await withApp(.dietApp, answer: nil) { bench in
            try await bench.sync.enable(AppBench.health)
            try await bench.sync.authorize(AppBench.health, .onboarding)
            let meal = Meal(
                id: "1", at: try bench.now, name: "Apple", energy: Quantity(95, .kilocalorie), fiber: .grams(4.4))
            try await bench.store.write { _ = try $0.save(meal) }
            try bench.save(.water(250, at: try bench.now))
            try await bench.refresh()
            #expect(bench.inHealth(.dietaryWater).isEmpty)
            #expect(try bench.status.authorization[.dietaryWater]?.writing == .notDetermined)
            try await bench.sync.authorize(AppBench.health, .all)
            try await bench.refresh()
            #expect(bench.inHealth(.dietaryWater).count == 1)
            #expect(bench.inHealth(.dietaryEnergyConsumed).count == 1 && bench.inHealth(.dietaryFiber).count == 1)
            #expect(try bench.status.authorization[.dietaryWater]?.writing == .granted)
            #expect(try bench.status.parked == 0)
        }
    }

    @Test("C11: during the onboarding, types that were not requested yet hide neither a revocation nor the last sync")
    func revokedDuringOnboarding() async throws {
        try await withApp(.dietApp, answer: nil) { bench in
            bench.device.answerRequests(.allow)
            try await bench.sync.enable(AppBench.health)
            try await bench.sync.authorize(AppBench.health, .onboarding)
            try bench.scale.record("BodyMass", 80, "kg", from: bench.date(-60))
            try await bench.refresh()
            #expect(try bench.samples(.bodyMass).count == 1)
            #expect(try bench.status.lastSync == bench.now)
            #expect(try bench.status.authorization[.dietaryWater]?.writing == .notDetermined)
            bench.device.setAccess(of: bench.app, to: SampleType.bodyMass.identifier, reading: .denied)
            for _ in 0..<2 {
                bench.clock.advance(by: 3_700)
                try await bench.sync.enterForeground()
            }
            #expect(try bench.status.issue?.code == .accessRevoked)
            #expect(try bench.status.reading[.bodyMass] == .suspectedRevoked)
            #expect(try bench.samples(.bodyMass).count == 1)
        }
    }

    @Test("The status tells not determined, authorized, denied and unavailable apart, and has the last sync's time")
    func statuses() async throws {
        try await withApp(.dietApp, answer: nil) { bench in
            let energy = SampleType.dietaryEnergyConsumed
            try await bench.sync.enable(AppBench.health)
            try await bench.refresh()
            #expect(try bench.status.authorization[energy]?.writing == .notDetermined)
            try await bench.sync.authorize(AppBench.health)
            try await bench.refresh()
            #expect(try bench.status.authorization[energy]?.writing == .granted)
            #expect(try bench.status.lastSync == bench.now)
            bench.device.setAccess(of: bench.app, to: energy.identifier, sharing: .denied)
            try await bench.refresh()
            #expect(try bench.status.authorization[energy]?.writing == .denied)
            bench.device.setAvailable(false)
            try await bench.refresh()
            #expect(try bench.status.availability == .unavailable)
        }
    }

    @Test("Errors name the failure and the remedy, and never a value")
    func errors() async throws {
        try await withApp(.dietApp, answer: nil) { bench in
            bench.device.setAvailable(false)
            try await bench.sync.enable(AppBench.health)
            let unavailable = await #expect(throws: SyncIssue.self) { try await bench.sync.authorize(AppBench.health) }
            #expect(unavailable?.code == .unavailable)
            #expect(unavailable?.message == "HealthKit is not available on this device")
            bench.device.setAvailable(true)
            let unasked = try await bench.refresh().issue
            #expect(unasked?.code == .accessNotDetermined)
            #expect(unasked?.message == "HealthKit access has not been authorized")
            try await bench.sync.authorize(AppBench.health)
            let water = SampleType.dietaryWater.identifier
            bench.device.setAccess(of: bench.app, to: water, sharing: .denied)
            try bench.save(.water(250, at: try bench.now))
            let denied = try await bench.refresh().issue
            #expect(denied?.code == .accessDenied && denied?.message == "HealthKit access has not been authorized")
            bench.device.setAccess(of: bench.app, to: water, sharing: .granted)
            try bench.scale.record("BodyMass", 83.25, "kg", from: bench.date(-60))
            bench.device.fail(.changes)
            let failed = try #require(try await bench.refresh().issue)
            #expect(failed.code == .delayed && !"\(failed)".contains("83.25"))
            #expect(failed.message == "Failed to query HealthKit: \(failed.detail)" && !failed.detail.isEmpty)
        }
    }

    @Test("Each type has the direction and the triggers of the document's table")
    func table() throws {
        let types = SyncPlan.dietApp.types
        for type in [SampleType.bodyMass, .dietaryWater] {
            #expect(types[type]?.direction == .both && types[type]?.triggers.contains(.onChange) == true)
        }
        let energy = try #require(types[.activeEnergyBurned])
        #expect(energy.direction == .pull && energy.triggers.isSuperset(of: [.hourly, .foreground]))
        #expect(types[.workout]?.direction == .pull && types[.workout]?.triggers == .foreground)
        for nutrient in nutrients {
            #expect(types[nutrient]?.direction == .push && types[nutrient]?.triggers.contains(.onChange) == true)
        }
    }

    @Test("A background task syncs until its time is over, and reports whether it finished")
    func backgroundTask() async throws {
        try await withApp(.dietApp) { bench in
            try bench.scale.record("BodyMass", 80, "kg", from: bench.date(-60))
            #expect(try await bench.sync.run(until: bench.at(30)))
            #expect(try bench.samples(.bodyMass).count == 1)
            bench.device.fail(.changes)
            #expect(try await bench.sync.run(until: bench.at(30)) == false)
        }
    }
}
