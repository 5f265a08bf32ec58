import Foundation
import HealthKV
import TestSupport

extension TestCipher: StoreSealer {}

/// The vocabulary of the random samples: few enough names that operations collide, and enough to use every table.
enum Vocabulary {
    static let mood = SampleType("com.example.mood")

    static let types: [SampleType] = [
        .bodyMass, .stepCount, .activeEnergyBurned, .dietaryProtein, .dietaryWater, mood,
    ]

    static let ownSource = Source(bundle: "com.example.app", name: "App", version: "1.0")

    /// The source whose samples mass operations remove.
    static let bulkSource = Source(bundle: "com.example.bulk", name: "Bulk")

    static let sources: [Source] = [
        .thisApp, ownSource, Source(bundle: "com.example.watch", name: "Watch", version: "11", product: "Watch7,1"),
        Source(bundle: "com.example.phone", name: "Phone", version: "18", product: "iPhone17,1", system: "18.1"),
        Source(bundle: "com.example.phone", name: "Phone", version: "18", product: "iPhone17,1", system: "18.2"),
        Source(name: "Scale"),
    ]

    /// The cipher of all stores of a run that is to try sealed ones.
    static let sealer: TestCipher? =
        ProcessInfo.processInfo.environment["HEALTHKV_SEALED"] == nil ? nil : TestCipher(key: 3)

    /// How a store is opened that is only read.
    static var readingOptions: SampleStore.Options {
        var options = SampleStore.Options()
        (options.createIfMissing, options.readOnly, options.sealer) = (false, true, sealer)
        return options
    }

    static var repairOptions: RepairOptions {
        var options = RepairOptions()
        options.sealer = sealer
        return options
    }

    static let epoch: Int64 = 700_000_000
    static let days = 200
    static let middle = Instant(nanoseconds: (epoch + Int64(days) * 43_200) * Instant.nanosecondsPerSecond)

    static func options(maintains: Bool = true, isMass: Bool = false) -> SampleStore.Options {
        var options = SampleStore.Options()
        options.source = ownSource
        options.sealer = sealer
        // Small, because a thousand stores are opened each second.
        options.mapSize = 64 << 20
        options.maintainsWhenIdle = maintains
        // Each image is a copy of the store, but must be judged as the original.
        options.limits.ignoresPlace = true
        if isMass { return options }
        // With these limits, a few hundred samples divide chunks and the index, and are removed in several steps.
        options.limits.chunkBytes = 600
        options.limits.identityBlockBytes = 1_000
        options.limits.partitionEntries = 300
        options.limits.recentEntries = 40
        options.limits.removedAtOnce = 20
        options.limits.chunksPerStep = 4
        options.limits.tombstonesPerStep = 50
        options.limits.importWindow = 64
        return options
    }

    static func instant(_ generator: inout SeededGenerator) -> Instant {
        let second = epoch + Int64(generator.number(0..<days * 86_400))
        let fine = generator.chance(percent: 25) ? Int64(generator.number(0..<1_000_000_000)) : 0
        return Instant(nanoseconds: second * Instant.nanosecondsPerSecond + fine)
    }

    private static func end(_ start: Instant, _ generator: inout SeededGenerator) -> Instant {
        let seconds: Int
        switch generator.number(0..<100) {
        case 0..<40: return start
        case 40..<85: seconds = generator.number(1..<3_600)
        case 85..<93: seconds = generator.number(3_600..<86_400)
        case 93..<97: seconds = generator.number(86_400..<40 * 86_400)
        case 97..<99: seconds = generator.number(40 * 86_400..<400 * 86_400)
        default: return .distantFuture
        }
        return start + Int64(seconds) * Instant.nanosecondsPerSecond
    }

    static func sample(_ generator: inout SeededGenerator, model: Model) -> Sample {
        let type = types.randomElement(using: &generator)!
        let unit: HealthUnit =
            switch type {
            case .bodyMass: generator.chance(percent: 30) ? .pound : .kilogram
            case .activeEnergyBurned: generator.chance(percent: 20) ? .kilojoule : .kilocalorie
            case .dietaryProtein: .gram
            case .dietaryWater: .milliliter
            default: .count
            }
        var start = instant(&generator)
        // Samples of the same time shadow each other.
        if type == .bodyMass, generator.chance(percent: 40), let id = model.ids.randomElement(using: &generator) {
            start = model.live[id]!.start
        }
        var sample = Sample(
            type, Double(generator.number(1..<20_000)) / 16, unit, from: start,
            to: type == .bodyMass ? start : end(start, &generator), source: sources.randomElement(using: &generator)!,
            id: SampleID(using: &generator), isUserEntered: generator.chance(percent: 10))
        sample.origin = generator.chance(percent: 60) ? .authored : .imported
        decorate(&sample, &generator)
        return sample
    }

    /// Sets the fields that most samples do not have.
    private static func decorate(_ sample: inout Sample, _ generator: inout SeededGenerator) {
        if generator.chance(percent: 15) { sample.syncIdentifier = "app.log.\(generator.number(0..<1_000_000_000))" }
        if generator.chance(percent: 10) { sample.group = "meal.\(generator.number(0..<20))" }
        if generator.chance(percent: 10) { sample.count = generator.number(1..<9) }
        if generator.chance(percent: 10) {
            sample.device = Device(name: "Device \(generator.number(0..<4))", manufacturer: "Example")
        }
        if generator.chance(percent: 15) {
            sample.metadata["note"] = .string(String(repeating: "note ", count: generator.number(1..<40)))
        }
        if generator.chance(percent: 5) { sample.metadata["flag"] = .bool(generator.chance(percent: 50)) }
    }

    /// Makes rows without ids, so that importing them again changes nothing. No two rows have the same start.
    static func derivedBatch(_ generator: inout SeededGenerator, rows: Int, source: Source) -> SampleBatch {
        var batch = SampleBatch()
        let kind = batch.kind(.stepCount, .count, source: source)
        var time = instant(&generator).nanoseconds
        for _ in 0..<rows {
            time += Int64(generator.number(1..<600)) * Instant.nanosecondsPerSecond
            let length = Int64(generator.number(0..<60)) * Instant.nanosecondsPerSecond
            batch.append(
                kind: kind, start: Instant(nanoseconds: time), end: Instant(nanoseconds: time + length),
                value: Double(generator.number(1..<5_000)))
        }
        return batch
    }
}
