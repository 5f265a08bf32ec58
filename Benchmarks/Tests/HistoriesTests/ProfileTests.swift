import HealthKV
import Histories
import Testing

@Suite("Profiles")
struct ProfileTests {
    @Test("Plain: three types alike, ten years, whole seconds, durations and values within their bounds")
    func plain() {
        let samples = all(History(.plain, samples: 30_000))
        for type in History(.plain, samples: 3).types {
            let own = samples.filter { $0.type == type }
            #expect(own.count == 10_000)
            let gaps = zip(own, own.dropFirst()).map { $1.start.nanoseconds - $0.start.nanoseconds }
            let mean = Int64(History.days) * History.day / 10_000
            #expect(gaps.allSatisfy { $0 >= 1_000_000_000 && $0 <= 2 * mean && $0 % 1_000_000_000 == 0 })
            // A mean of uniform gaps: four standard errors of 10,000 draws are 2.3 %.
            #expect(abs(gaps.reduce(0, +) / Int64(gaps.count) - mean) < mean / 40)
            for source in Set(own.map(\.source)) {
                #expect(abs(own.count { $0.source == source } - 3_333) < 200)
            }
            #expect(Set(own.map(\.source)).count == 3)
        }
        for sample in samples {
            let seconds = (sample.end.nanoseconds - sample.start.nanoseconds) / 1_000_000_000
            #expect(seconds >= 10 && seconds <= 609)
            #expect(sample.quantity.unit == sample.type.canonicalUnit)
        }
        let values = Dictionary(grouping: samples, by: \.type).mapValues { $0.map(\.quantity.value) }
        #expect(values[.stepCount]!.allSatisfy { $0 >= 1 && $0 <= 400 && $0 == $0.rounded() })
        #expect(values[.distanceWalkingRunning]!.allSatisfy { $0 >= 0.7 && $0 <= 320 })
        #expect(values[.activeEnergyBurned]!.allSatisfy { $0 >= 0 && $0 <= 30 && ($0 * 1000).rounded() / 1000 == $0 })
    }

    @Test("Plain: UUIDs are of version 4")
    func versions() {
        for sample in all(History(.plain, samples: 1_000)) {
            #expect(sample.id.high & 0xF000 == 0x4000 && sample.id.low >> 62 == 2)
        }
    }

    @Test("Weight: some in pounds, some with sync identifiers, a weighing a day at most")
    func weight() {
        let samples = all(History(.weight, samples: 3_200))
        #expect(samples.contains { $0.quantity.unit == .pound })
        #expect(samples.contains { $0.syncIdentifier != nil } && samples.contains { $0.syncIdentifier == nil })
        #expect(Set(samples.map { $0.start.nanoseconds / History.day }).count == samples.count)
        #expect(samples.allSatisfy { (40...160).contains((try? $0.value(in: .kilogram)) ?? 0) })
    }

    @Test("Life: meals are groups with sync identifiers, phone and watch overlap, some samples carry metadata")
    func life() {
        let samples = all(History(.life, samples: 300_000))
        let meals = Dictionary(grouping: samples.filter { $0.group != nil }, by: \.group!)
        #expect(!meals.isEmpty)
        for (group, members) in meals {
            #expect(members.allSatisfy { $0.syncIdentifier?.hasPrefix(group + ".") == true })
        }
        let steps = samples.filter { $0.type == .stepCount }
        #expect(Set(steps.map(\.source.name)) == ["Phone", "Watch"])
        #expect(zip(steps, steps.dropFirst()).contains { $0.end > $1.start && $0.source != $1.source })
        #expect(samples.contains { !$0.metadata.isEmpty } && samples.contains { $0.device != nil })
        // Phone and watch count the metres of a walk too, a meal has a dozen nutrients, and workouts have energy every
        // few seconds.
        #expect(Set(samples.filter { $0.type == .distanceWalkingRunning }.map(\.source.name)) == ["Phone", "Watch"])
        #expect(meals.values.dropFirst().dropLast().allSatisfy { Set($0.map(\.type)).count == 12 && $0.count == 12 })
        let energy = samples.filter { $0.type == .activeEnergyBurned }
        #expect(
            !energy.isEmpty
                && energy.allSatisfy { (2...7).contains(($0.end.nanoseconds - $0.start.nanoseconds) / 1_000_000_000) })
    }

    @Test("In profile life people travel: what they write down says where, and their days begin at other hours")
    func travel() {
        let samples = all(History(.life, samples: 300_000))
        let written = samples.filter { $0.origin == .authored }
        func zone(_ sample: Sample) -> String? {
            if case .string(let zone)? = sample.metadata["HKTimeZone"] { zone } else { nil }
        }
        #expect(written.allSatisfy { zone($0) != nil })
        #expect(Set(written.compactMap { zone($0) }).count == 4)
        func hours(_ zone: String) -> Set<Int64> {
            Set(
                written.filter { sample in sample.metadata["HKTimeZone"] == .string(zone) }.map {
                    $0.start.nanoseconds / 3_600_000_000_000 % 24
                })
        }
        #expect(hours("Europe/London") != hours("America/New_York"))
        #expect(zip(samples, samples.dropFirst()).allSatisfy { $0.start <= $1.start })
    }

    private func all(_ history: History) -> [Sample] {
        history.flatMap { batch in (0..<batch.count).map { batch.sample(at: $0) } }
    }
}
