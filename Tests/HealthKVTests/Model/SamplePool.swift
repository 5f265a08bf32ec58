import TestSupport

@testable import HealthKV

/// The few sources, types, times and texts that random samples are made of, so that they meet each other.
struct SamplePool {
    let sources: [Source]
    let types: [SampleType]
    let groups = ["breakfast", "lunch", "dinner"]
    /// How many samples are of a group. Where most are, they are of the same.
    let groupShare: Double
    let syncIdentifiers: [String]
    /// The start of most samples lies within an hour from here.
    let base: Int64

    /// Units that the store numbers itself.
    private static let furtherUnits = try! [
        "st", "oz", "fl_oz_us", "count/min", "Hz", "count/s", "min", "s", "mmol<180.15588>/L",
    ]
    .map { try HealthUnit(symbol: $0) }

    static let mood = SampleType("org.example.mood")

    init(_ random: inout SeededGenerator) {
        sources = [
            Source(bundle: "org.example.app", name: "App", version: "1", product: "iPhone17,1", system: "26.0"),
            Source(bundle: "com.apple.health.1", name: "Watch", version: "11", product: "Watch7,2"),
            Source(bundle: "com.apple.health.2", name: "Phone", product: "iPhone16,2"),
            Source(bundle: "org.example.other", name: "Other", version: "5"),
            Source(name: "Zoe\u{301}"),
        ]
        types = [
            .bodyMass, .bodyFatPercentage, .stepCount, .dietaryWater, SamplePool.mood, .heartRate, .sleepAnalysis,
            .workout, .workoutRoute,
        ]
        syncIdentifiers = (0..<10).map { "s\($0)" } + [String(repeating: "long ", count: 60), "é", "app.log.1.protein"]
        groupShare = random.chance(0.15) ? 0.9 : 0.15
        base = random.pick([800_000_000, -300_000_000, 0, 3_000_000_000]) * Instant.nanosecondsPerSecond
    }

    func plain(
        _ type: SampleType, _ value: Double, start: Int, source: Source, _ random: inout SeededGenerator
    ) -> Sample {
        let start = Instant(nanoseconds: base + Int64(start) * Instant.nanosecondsPerSecond)
        return Sample(type, value, .gram, from: start, to: start, source: source, id: SampleID(using: &random))
    }

    /// A fresh sample of random content.
    func fresh(_ random: inout SeededGenerator) -> Sample {
        let type = random.pick(types)
        let (start, end) = times(&random)
        var sample = Sample(
            type, value(&random), unit(type, &random), from: start, to: end, source: source(&random),
            id: SampleID(using: &random), origin: random.chance(0.4) ? .imported : .authored,
            isUserEntered: random.chance(0.15))
        if random.chance(0.25) { sample.syncIdentifier = random.pick(syncIdentifiers) }
        if random.chance(groupShare) { sample.group = groupShare > 0.5 ? groups[0] : random.pick(groups) }
        if random.chance(0.1) { sample.device = Device(name: random.pick(["Scale", "Ring"]), localIdentifier: "x") }
        if random.chance(0.1) { sample.count = random.pick([2, 60, Int(Int32.max)]) }
        if random.chance(0.12) { sample.metadata = metadata(&random) }
        if random.chance(0.05) { sample.timeZone = random.pick(["Asia/Kathmandu", "Europe/Paris"]) }
        if random.chance(0.05) { sample.note = random.pick(["before breakfast", "", "é"]) }
        if random.chance(0.05) { sample.bodyFat = value(&random) }
        if random.chance(0.6) { sample.workout = RandomWorkout.make(&random) }
        if type == .workoutRoute { sample.route = RandomRoute.make(&random) }
        if random.chance(0.15) {
            var beneath = sample
            beneath.quantity = Quantity(value(&random), unit(type, &random))
            beneath.version = Int64(random.number(1..<4))
            if random.chance(0.5) { beneath.modified = clock(&random) }
            sample.original = Sample.Original(of: beneath)
        } else if random.chance(0.1) {
            sample.reversion = Sample.Reversion(version: Int64(random.number(1..<5)), modified: clock(&random))
        }
        return fit(sample, &random)
    }

    /// The clock of a change that was made elsewhere, long ago.
    private func clock(_ random: inout SeededGenerator) -> ChangeClock {
        ChangeClock(
            time: Instant(nanoseconds: Int64(random.number(1..<5))), replica: UInt32(random.number(0..<3)))
    }

    /// The sample without what its kind and origin cannot have.
    func fit(_ sample: Sample, _ random: inout SeededGenerator) -> Sample {
        var sample = sample
        // Nobody mints the version with which a sample is hidden.
        if sample.version >= Sample.versionLimit { sample.version = Int64(random.number(1..<9)) }
        // A workout whose end is not known says how long it has lasted.
        if sample.type == .workout, sample.isOpenEnded, sample.quantity.value.isNaN { sample.quantity.value = 60 }
        if sample.type != .workout { sample.workout = nil }
        if sample.type != .workoutRoute { sample.route = nil }
        if sample.origin == .authored { (sample.original, sample.reversion) = (nil, nil) }
        if let unit = sample.original?.quantity.unit, let canonical = sample.type.canonicalUnit,
            !unit.isCompatible(with: canonical)
        {
            sample.original = nil
        }
        if sample.type.kind == .category, Int32(exactly: sample.quantity.value) == nil {
            sample.quantity.value = Double(random.number(0..<6))
        }
        return sample
    }

    func source(_ random: inout SeededGenerator) -> Source {
        if random.chance(0.15) { return .thisApp }
        var source = random.pick(sources)
        if random.chance(0.2) { source.version = random.pick(["7", "8", nil]) }
        return source
    }

    /// A unit that fits; a type that the catalog does not know mixes what does not.
    func unit(_ type: SampleType, _ random: inout SeededGenerator) -> HealthUnit {
        let units = HealthUnit.catalog + SamplePool.furtherUnits
        guard let canonical = type.canonicalUnit else { return random.chance(0.9) ? .count : random.pick(units) }
        return random.chance(0.7) ? canonical : random.pick(units.filter { $0.isCompatible(with: canonical) })
    }

    /// The number of some bits, without those of which no sum can be made in every unit.
    private static func finite(_ bits: UInt64) -> Double {
        let number = Double(bitPattern: bits)
        return abs(number) <= 1e200 ? number : 0.5
    }

    func value(_ random: inout SeededGenerator) -> Double {
        switch random.number(0..<10) {
        case 0..<4: Double(random.number(0..<2_000)) / 10
        case 4..<7: Double(random.number(0..<400))
        case 7: Double.random(in: -1...1, using: &random)
        case 8: SamplePool.finite(random.next())
        default:
            random.pick([
                -0.0, 0, .leastNonzeroMagnitude, -.leastNonzeroMagnitude, 1e200, -1e200, 0.1 + 0.2,
                9_007_199_254_740_992, 1e-9,
            ])
        }
    }

    func times(_ random: inout SeededGenerator) -> (Instant, Instant) {
        var start = base + Int64(random.number(0..<60)) * 60 * Instant.nanosecondsPerSecond
        switch random.number(0..<20) {
        case 0..<3: start += Int64(random.number(0..<1_000_000_000))
        case 3: start += Int64(random.number(-40..<40)) * 86_400 * Instant.nanosecondsPerSecond
        case 4:
            start = random.pick([
                Instant.earliest.nanoseconds, Instant.latest.nanoseconds - 1, -8_500_000_000_000_000_000,
                8_900_000_000_000_000_000, 0, -1,
            ])
        default: break
        }
        let hour = 3_600 * Instant.nanosecondsPerSecond
        let lengths = [
            0, 0, 0, 1, 60_000_000_000, 60_000_000_000, 1_800_000_000_000, hour - 1, hour, hour + 1, 5 * hour,
            24 * hour - 1,
            24 * hour, 24 * hour + 1, 240 * hour, 768 * hour, 768 * hour + 1, 5_000 * hour, 1_000_000 * hour,
        ]
        if random.chance(0.04) { return (Instant(nanoseconds: start), .distantFuture) }
        let end = Instant(nanoseconds: start) + random.pick(lengths)
        return (Instant(nanoseconds: start), end.isRepresentable ? end : Instant(nanoseconds: start))
    }

    func metadata(_ random: inout SeededGenerator) -> [String: MetadataValue] {
        let all: [(String, MetadataValue)] = [
            ("HKWasUserEntered", .bool(true)), ("note", .string(String(repeating: "é", count: random.number(0..<200)))),
            ("number", .number(value(&random))), ("date", .date(.distantPast)),
            ("quantity", .quantity(Quantity(value(&random), .pound))),
            ("level", .quantity(Quantity(value(&random), .milligramPerDeciliter))), ("", .bool(false)),
        ]
        return Dictionary(uniqueKeysWithValues: all.filter { !$0.0.isEmpty && random.chance(0.4) })
    }
}
