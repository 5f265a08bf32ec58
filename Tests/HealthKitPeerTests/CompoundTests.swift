import Foundation
import HealthKVSync
import HealthKitPeer
import HealthKitSimulator
import Testing

/// Meals, workouts and categories, which go both ways (SEMANTICS A5, A25, C5).
@Suite struct CompoundTests {
    private func porridge(_ bench: PeerBench) throws -> [Sample] {
        let meal = Meal(
            id: "log-17", at: try bench.instant(0), name: "Porridge", energy: Quantity(310, .kilocalorie),
            protein: .grams(11),
            fiber: .grams(8.2))
        return meal.samples().map { sample in
            var sample = sample
            sample.version = 1
            return sample
        }
    }

    private func meals(_ bench: PeerBench) -> [Double] { bench.contents(.food).map(\.value) }

    @Test("A25: a meal is saved as one correlation, in one save; an edit takes the old one's place in it")
    func meal() async throws {
        let bench = try await PeerBench()
        var samples = try porridge(bench)
        #expect(await bench.save(samples, group: samples).allSatisfy(\.isDone))
        #expect(meals(bench) == [3])
        #expect(bench.device.count(of: .save) == 1)
        (samples[0].quantity.value, samples[0].version) = (12, 2)
        #expect(await bench.save([samples[0]], group: samples).allSatisfy(\.isDone))
        #expect(meals(bench) == [3])
        #expect(await bench.save(samples, group: samples).allSatisfy(\.isDone))
        #expect(meals(bench) == [3])
        let pulled = try await bench.pullAll(samples[0].type).added
        #expect(pulled.map(\.sample.group) == ["log-17"])
        #expect(try await bench.pullAll(.food).added.isEmpty)
    }

    @Test("A25: nutrients of meals that lie years apart keep their meals, also in one page") func mealsOfYears()
        async throws
    {
        let bench = try await PeerBench()
        let year = 365 * 86_400.0
        // In the order of an import, not of time.
        let starts = [0, -5 * year, -year, -5 * year + 3_600, -year + 86_400 * 1.5]
        for (number, start) in starts.enumerated() {
            let meal = Meal(
                id: "log-\(number)", at: try bench.instant(start), name: "Porridge",
                energy: Quantity(310, .kilocalorie), protein: .grams(11), fiber: .grams(8.2))
            let samples = meal.samples().map { sample in
                var sample = sample
                sample.version = 1
                return sample
            }
            #expect(await bench.save(samples, group: samples).allSatisfy(\.isDone))
        }
        for limit in [2, 100] {
            let pulled = try await bench.pullAll(.dietaryProtein, limit: limit).added
            #expect(Set(pulled.map(\.sample.group)) == Set(starts.indices.map { "log-\($0)" }))
        }
    }

    @Test("A16: a meal that was never sent is saved as one correlation while the device is locked")
    func lockedMeal() async throws {
        let bench = try await PeerBench()
        let samples = try porridge(bench)
        bench.device.lock()
        #expect(await bench.save(samples, group: samples).allSatisfy(\.isDone))
        #expect(meals(bench) == [3])
        bench.device.unlock()
        #expect(await bench.save(samples, group: samples).allSatisfy(\.isDone))
        #expect(meals(bench) == [3])
    }

    @Test(
        "A16: a workout saved while the device is locked is not given back: whether it is there is unknown, and it is never doubled"
    )
    func lockedWorkout() async throws {
        let bench = try await PeerBench()
        let start = try bench.instant(-3_600)
        var workout = Sample.workout(.running, from: start, to: try bench.instant(0))
        (workout.syncIdentifier, workout.version) = ("run", 1)
        bench.device.lock()
        guard case .unknown = await bench.save([workout]).first else {
            Issue.record("the outcome is known")
            return
        }
        bench.device.unlock()
        #expect(await bench.save([workout]).allSatisfy(\.isDone))
        #expect(bench.contents(.workout).count == 1)
    }

    @Test(
        "A25: a meal that is saved late, after a newer version of it on a locked device, removes no nutrient")
    func lateMeal() async throws {
        var options = SimulationOptions()
        (options.deletingCorrelationDeletesMembers, options.equalVersionReplaces) = (true, true)
        let bench = try await PeerBench(options)
        let late = try porridge(bench)
        let newer = late.map { sample in
            var sample = sample
            sample.version = 2
            return sample
        }
        #expect(await bench.save(newer, group: newer).allSatisfy(\.isDone))
        bench.device.lock()
        _ = await bench.save(late, group: late)
        for sample in late { #expect(bench.contents(sample.type).count == 1) }
        #expect(meals(bench) == [3])
    }

    @Test("A25: if HealthKit does not tell whether nutrients vanished with a replaced meal, they are saved again once")
    func unseenLoss() async throws {
        var options = SimulationOptions()
        options.deletingCorrelationDeletesMembers = true
        let bench = try await PeerBench(options)
        let samples = try porridge(bench)
        _ = await bench.save(Array(samples.dropLast()), group: Array(samples.dropLast()))
        let all = samples.map { sample in
            var sample = sample
            sample.version = 2
            return sample
        }
        // The queries before the save succeed, and no later one.
        for number in 5...12 { bench.device.fail(.samples, number: number) }
        #expect(await bench.save(all, group: all).allSatisfy(\.isDone))
        bench.device.forgetFailures()
        #expect(bench.device.count(of: .save) == 3)
        for sample in samples { #expect(bench.contents(sample.type).count == 1) }
    }

    @Test("A push that was left behind saves nothing more when it goes on")
    func leftBehind() async throws {
        let bench = try await PeerBench()
        let (gone, kept) = (try bench.weight(70, "gone"), try porridge(bench))
        #expect(await bench.save([gone]).allSatisfy(\.isDone))
        bench.device.hang(.delete)
        let deleted = DeletedSample(
            id: gone.id, type: gone.type, source: gone.source.identity, syncIdentifier: gone.syncIdentifier,
            version: 1, modified: ChangeClock(time: gone.start, replica: 1))
        let operations =
            [PushOperation(sequence: 0, kind: .delete(deleted))]
            + kept.enumerated().map { PushOperation(sequence: UInt64($0) + 1, kind: .save($1), group: kept) }
        let push = Task { await bench.peer.push(operations) }
        while bench.device.hungCalls == 0 { await Task.yield() }
        push.cancel()
        bench.device.releaseHungCalls()
        #expect(await push.value.allSatisfy { !$0.isDone })
        #expect(meals(bench).isEmpty)
        #expect(await bench.save(kept, group: kept).allSatisfy(\.isDone))
        #expect(meals(bench) == [3])
    }

    @Test("C5: deleting all nutrients of a meal leaves no empty meal behind")
    func deletedMeal() async throws {
        let bench = try await PeerBench()
        let samples = try porridge(bench)
        _ = await bench.save(samples, group: samples)
        for sample in samples { #expect(await bench.delete(sample)?.isDone == true) }
        #expect(meals(bench) == [])
        for sample in samples { #expect(bench.contents(sample.type).isEmpty) }
    }

    @Test("What is added to a meal later makes a correlation of its own; what was there is not saved again")
    func grownMeal() async throws {
        let bench = try await PeerBench()
        let samples = try porridge(bench)
        _ = await bench.save(Array(samples.dropLast()), group: Array(samples.dropLast()))
        #expect(await bench.save([samples[2]], group: samples).allSatisfy(\.isDone))
        #expect(meals(bench).sorted() == [1, 2])
        for sample in samples { #expect(bench.contents(sample.type).count == 1) }
    }

    @Test("A foreign meal comes with its members in one group")
    func foreignMeal() async throws {
        let bench = try await PeerBench()
        let other = bench.device.install(bundle: "app.other", name: "Other")
        let types = ["DietaryProtein", "DietaryFiber"].map {
            HKQuantityType(HKQuantityTypeIdentifier(rawValue: "HKQuantityTypeIdentifier\($0)"))
        }
        let members = types.map {
            HKQuantitySample(
                type: $0, quantity: HKQuantity(unit: HKUnit(from: "mg"), doubleValue: 8_000), start: bench.clock.now,
                end: bench.clock.now, device: nil, metadata: nil)
        }
        let food = HKCorrelation(
            type: HKCorrelationType(HKCorrelationTypeIdentifier(rawValue: "HKCorrelationTypeIdentifierFood")),
            start: bench.clock.now, end: bench.clock.now, objects: Set(members), device: nil,
            metadata: ["HKFoodType": "Soup"])
        try other.write([food])
        let protein = try #require(try await bench.pullAll(.dietaryProtein).added.first?.sample)
        let fiber = try #require(try await bench.pullAll(.dietaryFiber).added.first?.sample)
        let whole = try #require(try await bench.pullAll(.food).added.first?.sample)
        #expect(protein.quantity == Quantity(8, .gram))
        #expect(Set([protein, fiber, whole].map(\.group)) == [food.uuid.uuidString])
        #expect(whole.metadata["HKFoodType"] == .string("Soup"))
    }

    @Test("Both blood pressures of a measurement make one correlation")
    func bloodPressure() async throws {
        let bench = try await PeerBench()
        let samples = try [(SampleType.bloodPressureSystolic, 120.0), (.bloodPressureDiastolic, 80)].map {
            type, value in
            var sample = Sample(
                type, value, .millimeterOfMercury, at: try bench.instant(0), syncIdentifier: "bp-\(value)", group: "bp")
            sample.version = 1
            return sample
        }
        #expect(await bench.save(samples, group: samples).allSatisfy(\.isDone))
        #expect(bench.contents(.bloodPressure).map(\.value) == [2])
    }

    @Test(
        "A workout goes out with its totals and pauses, comes back the same, and takes its totals along when it is deleted"
    )
    func workout() async throws {
        let bench = try await PeerBench()
        let (from, to) = (try bench.instant(0), try bench.instant(1_800))
        var run = Sample.workout(
            .running, from: from, to: to, duration: 1_740, energy: Quantity(312, .kilocalorie),
            distance: Quantity(5.2, .kilometer))
        (run.syncIdentifier, run.version) = ("run", 1)
        run.workout?.events = [
            WorkoutEvent(.pause, from: try bench.instant(600), to: try bench.instant(600)),
            WorkoutEvent(.resume, from: try bench.instant(660), to: try bench.instant(660)),
        ]
        #expect(await bench.save([run]).allSatisfy(\.isDone))
        let pulled = try #require(try await bench.pullAll(.workout).added.first)
        #expect(pulled.isOwn)
        #expect(pulled.sample.duration == 1_740)
        #expect(pulled.sample.workout?.activityType == .running)
        #expect(pulled.sample.workout?.energy == Quantity(312, .kilocalorie))
        #expect(pulled.sample.workout?.distance == Quantity(5_200, .meter))
        #expect(pulled.sample.workout?.events == run.workout?.events)
        #expect(try await bench.pullAll(.activeEnergyBurned).added.isEmpty)
        #expect(bench.contents(.activeEnergyBurned).count == 1)
        #expect(await bench.delete(run)?.isDone == true)
        for type in [SampleType.workout, .activeEnergyBurned, .distanceWalkingRunning] {
            #expect(bench.contents(type).isEmpty)
        }
    }

    @Test("An enumeration goes on behind a page that holds the parts of a workout, which are left out")
    func enumeratedParts() async throws {
        let bench = try await PeerBench()
        let entries = try (0..<8).map { index in
            Sample(
                .activeEnergyBurned, 10 + Double(index), .kilocalorie,
                at: try bench.instant(Double(-10_000 + index * 1_000)),
                syncIdentifier: "entry \(index)")
        }
        #expect(await bench.save(entries).allSatisfy(\.isDone))
        var run = Sample.workout(
            .running, from: try bench.instant(-6_500), to: try bench.instant(-6_000),
            energy: Quantity(312, .kilocalorie))
        (run.syncIdentifier, run.version) = ("run", 1)
        #expect(await bench.save([run]).allSatisfy(\.isDone))
        var (found, cursor): ([Double], [UInt8]?) = ([], nil)
        repeat {
            let page = try await bench.peer.enumerate(
                EnumerationRequest(type: .activeEnergyBurned, cursor: cursor, limit: 4))
            found += page.samples.map(\.sample.quantity.value)
            cursor = page.cursor
        } while cursor != nil
        #expect(Set(found) == Set(entries.map(\.quantity.value)))
    }

    @Test("An outline has the id, the start and the writer of each sample of the enumeration, and no others")
    func outline() async throws {
        let bench = try await PeerBench()
        for second in [-9_000.0, -8_000, -8_000, -8_000, -7_000] {
            try bench.watch.record(
                "ActiveEnergyBurned", 3, "kcal", from: bench.clock.now.addingTimeInterval(second))
        }
        let entry = Sample(
            .activeEnergyBurned, 10, .kilocalorie, at: try bench.instant(-7_500), syncIdentifier: "entry")
        var run = Sample.workout(
            .running, from: try bench.instant(-6_500), to: try bench.instant(-6_000),
            energy: Quantity(312, .kilocalorie))
        (run.syncIdentifier, run.version) = ("run", 1)
        #expect(await bench.save([entry, run]).allSatisfy(\.isDone))
        for limit in [2, 100] {
            var (whole, outline, cursors): ([SampleOutline], [SampleOutline], [[UInt8]?]) = ([], [], [nil])
            while let cursor = cursors.popLast() {
                let request = EnumerationRequest(type: .activeEnergyBurned, cursor: cursor, limit: limit)
                let (page, short) = (try await bench.peer.enumerate(request), try await bench.peer.outline(request))
                #expect(page.cursor == short.cursor)
                whole += page.samples.map {
                    SampleOutline(idAtPeer: $0.idAtPeer, start: $0.sample.start, isOwn: $0.isOwn)
                }
                outline += short.samples
                if let next = page.cursor { cursors.append(next) }
            }
            #expect(whole == outline && Set(outline).count == 6)
            #expect(Set(outline).filter(\.isOwn).count == 1)
        }
    }

    @Test("The parts of a workout of several sports go both ways")
    func triathlon() async throws {
        let bench = try await PeerBench()
        let (from, to) = (try bench.instant(0), try bench.instant(1_800))
        var race = Sample.workout(.swimBikeRun, from: from, to: to)
        (race.syncIdentifier, race.version) = ("race", 1)
        race.workout?.events = [
            WorkoutEvent(.pause, from: try bench.instant(700), to: try bench.instant(700)),
            WorkoutEvent(.resume, from: try bench.instant(760), to: try bench.instant(760)),
        ]
        race.workout?.activities = [
            WorkoutActivity(.swimming, from: from, to: try bench.instant(600), metadata: ["pool": .bool(true)]),
            WorkoutActivity(.cycling, from: try bench.instant(600), to: to),
        ]
        #expect(await bench.save([race]).allSatisfy(\.isDone))
        let pulled = try #require(try await bench.pullAll(.workout).added.first?.sample.workout)
        #expect(pulled.activityType == .swimBikeRun)
        #expect(pulled.activities.map(\.activityType) == [.swimming, .cycling])
        #expect(pulled.activities.map(\.start) == race.workout?.activities.map(\.start))
        #expect(pulled.activities.map(\.duration) == [Quantity(600, .second), Quantity(1_140, .second)])
        #expect(pulled.activities.map(\.events.count) == [0, 2])
        #expect(pulled.activities.map(\.metadata) == [["pool": .bool(true)], [:]])
        race.workout?.activities[1].end = to + 1
        #expect(await bench.save([race]).allSatisfy(\.isRefused))
    }

    @Test("A workout that is saved again at a greater version replaces itself and its totals")
    func editedWorkout() async throws {
        let bench = try await PeerBench()
        var run = Sample.workout(
            .running, from: try bench.instant(0), to: try bench.instant(1_800), energy: Quantity(312, .kilocalorie))
        (run.syncIdentifier, run.version) = ("run", 1)
        _ = await bench.save([run])
        run.version = 2
        run.workout?.energy = Quantity(400, .kilocalorie)
        #expect(await bench.save([run]).allSatisfy(\.isDone))
        #expect(bench.contents(.workout).count == 1)
        #expect(bench.contents(.activeEnergyBurned).map(\.value) == [400])
    }

    @Test("A phase of sleep goes both ways")
    func category() async throws {
        let bench = try await PeerBench()
        var sleep = Sample(category: .sleepAnalysis, 3, from: try bench.instant(0), to: try bench.instant(3_600))
        (sleep.syncIdentifier, sleep.version) = ("sleep", 1)
        #expect(await bench.save([sleep]).allSatisfy(\.isDone))
        let pulled = try #require(try await bench.pullAll(.sleepAnalysis).added.first?.sample)
        #expect(pulled.categoryValue == 3)
        #expect(pulled.end == sleep.end)
    }
}
