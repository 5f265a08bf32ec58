import HealthKV

/// Profile `life`: realistic days. Each day is generated at once, sorted by time, and handed out row by row.
struct LifeRows {
    static let types: [SampleType] =
        [.stepCount, .distanceWalkingRunning, .activeEnergyBurned, .bodyMass] + nutrients.map(\.type)

    private static let nutrients: [(type: SampleType, unit: HealthUnit, name: String, most: Double)] = [
        (.dietaryEnergyConsumed, .kilocalorie, "energy", 900), (.dietaryProtein, .gram, "protein", 50),
        (.dietaryCarbohydrates, .gram, "carbohydrates", 120), (.dietaryFatTotal, .gram, "fat", 45),
        (.dietarySugar, .gram, "sugar", 40), (.dietarySodium, .milligram, "sodium", 1500),
        (.dietaryFiber, .gram, "fiber", 15), (.dietaryFatSaturated, .gram, "saturated", 15),
        (.dietaryCholesterol, .milligram, "cholesterol", 150), (.dietaryPotassium, .milligram, "potassium", 1200),
        (.dietaryCalcium, .milligram, "calcium", 400), (.dietaryIron, .milligram, "iron", 6),
    ]

    /// A place where a person stays: home or the destination of a trip, with shifted days.
    private struct Place {
        let zone: String
        /// The offset of the local time in seconds.
        let offset: Int64

        static let home = Place(zone: "Europe/London", offset: 0)
        static let others = [
            Place(zone: "America/New_York", offset: -5 * 3600), Place(zone: "Asia/Kathmandu", offset: 20_700),
            Place(zone: "Europe/Berlin", offset: 3600),
        ]
    }

    private static let watchDevice = Device(
        name: "Watch", manufacturer: "Example", model: "Watch", hardwareVersion: "7,2")

    /// A generated row.
    private struct Row {
        var type: SampleType
        var unit: HealthUnit
        var source: Source
        var start: Int64
        var end: Int64
        var value: Double
        var origin = Sample.Origin.imported
        var isUserEntered = false
        var extras: SampleBatch.Extras?
    }

    /// The days of a history with this number of samples, so that each day has at least six hundred.
    static func days(_ samples: Int) -> Int { min(History.days, samples / 600 + 1) }

    private var random: SplitMix64
    private let samples: Int
    private var made = 0
    private var day = 0
    private var meals = 0
    private var kilograms = 81.0
    private var place = Place.home
    private var daysLeft = 0
    private var rows: ArraySlice<Row> = []

    init(samples: Int, seed: UInt64) {
        random = SplitMix64(seed: seed, stream: 21)
        self.samples = samples
    }

    mutating func write(_ count: Int, to writer: inout BatchWriter) {
        for _ in 0..<count {
            while rows.isEmpty { makeDay() }
            let row = rows.removeFirst()
            let kind = writer.kind(
                row.type, row.unit, row.source, origin: row.origin, isUserEntered: row.isUserEntered)
            writer.append(
                kind: kind, start: row.start * Instant.nanosecondsPerSecond,
                end: row.end * Instant.nanosecondsPerSecond,
                value: row.value)
            if let extras = row.extras { writer.setExtras(extras) }
        }
    }

    /// Generates the rows of the next day, as many as the whole history needs by then. A long workout reduces the walks
    /// of the next days.
    private mutating func makeDay() {
        let days = LifeRows.days(samples)
        let quota = samples * (day + 1) / days - made
        travel()
        let morning =
            History.start.nanoseconds / Instant.nanosecondsPerSecond + Int64(History.days - days + day) * 86_400
            - place.offset
        var today: [Row] = walk(morning + Int64(random.whole(6 * 3600...22 * 3600)))
        if random.chance(0.7) { today.append(weighing(morning)) }
        if random.chance(0.8) {
            for hour in [8, 13, 19] { today += meal(morning + Int64(hour) * 3600) }
        }
        if random.chance(0.4) { today += workout(morning + Int64(random.whole(17 * 3600...20 * 3600))) }
        // Walks that phone and watch both count fill the rest of the day's quota.
        while today.count < quota { today += walk(morning + Int64(random.whole(6 * 3600...22 * 3600))) }
        today.sort { $0.start < $1.start }
        made += today.count
        day += 1
        rows = today[...]
    }

    /// Starts a trip of some days, now and then.
    private mutating func travel() {
        daysLeft -= 1
        if daysLeft > 0 { return }
        let isLeaving = place.offset == 0 && random.chance(0.03)
        place = isLeaving ? Place.others[random.below(Place.others.count)] : .home
        daysLeft = isLeaving ? random.whole(3...14) : 1
    }

    private mutating func weighing(_ morning: Int64) -> Row {
        kilograms += (76 - kilograms) * 0.001 + random.bell() * 0.12
        let start = morning + Int64(random.whole(6 * 3600...8 * 3600))
        let value = ((kilograms + random.bell() * 0.3) * 10).rounded() / 10
        var row = Row(type: .bodyMass, unit: .kilogram, source: Sources.scale, start: start, end: start, value: value)
        if random.chance(0.3) {
            row.source = Sources.diary
            row.origin = .authored
            row.isUserEntered = true
            row.extras = SampleBatch.Extras()
            row.extras?.syncIdentifier = SampleID(using: &random).description
            row.extras?.version = 1
            row.extras?.metadata["HKTimeZone"] = .string(place.zone)
        }
        return row
    }

    /// The nutrients of one meal: a group whose samples have sync identifiers.
    private mutating func meal(_ hour: Int64) -> [Row] {
        meals += 1
        let start = hour + Int64(random.below(3600))
        let share = random.real(0.2...1)
        return LifeRows.nutrients.map { nutrient in
            let value = (nutrient.most * share * random.real(0.6...1) * 10).rounded() / 10
            var row = Row(
                type: nutrient.type, unit: nutrient.unit, source: Sources.diary, start: start, end: start, value: value)
            row.origin = .authored
            row.isUserEntered = true
            var extras = SampleBatch.Extras()
            extras.group = "app.log.\(meals)"
            extras.syncIdentifier = "app.log.\(meals).\(nutrient.name)"
            extras.version = 1
            extras.metadata["HKTimeZone"] = .string(place.zone)
            if nutrient.name == "energy" { extras.metadata["HKFoodType"] = .string("meal \(meals % 12)") }
            row.extras = extras
            return row
        }
    }

    /// Energy every few seconds, from the watch; metadata of the first samples says if it was indoors.
    private mutating func workout(_ start: Int64) -> [Row] {
        let isIndoor = random.chance(0.5)
        let end = start + Int64(random.whole(20 * 60...50 * 60))
        var rows: [Row] = []
        var time = start
        while time < end {
            let next = time + Int64(random.whole(2...7))
            let value = (Double(next - time) * random.real(0.07...0.23) * 1000).rounded() / 1000
            var row = Row(
                type: .activeEnergyBurned, unit: .kilocalorie, source: Sources.watch, start: time, end: next,
                value: value)
            if rows.count < 3 {
                var extras = SampleBatch.Extras()
                extras.device = LifeRows.watchDevice
                extras.metadata["HKIndoorWorkout"] = .bool(isIndoor)
                row.extras = extras
            }
            rows.append(row)
            time = next
        }
        return rows
    }

    /// A walk: the watch records steps and metres in shorter pieces than the phone, over the same time.
    private mutating func walk(_ start: Int64) -> [Row] {
        let end = start + Int64(random.whole(120...2400))
        var rows: [Row] = []
        for (source, longest) in [(Sources.phone, 600), (Sources.watch, 180)] {
            var time = start + Int64(random.below(30))
            while time < end {
                let next = time + Int64(random.whole(20...longest))
                let steps = Double(next - time) * random.real(1.2...2)
                rows.append(
                    Row(
                        type: .stepCount, unit: .count, source: source, start: time, end: next,
                        value: steps.rounded()))
                rows.append(
                    Row(
                        type: .distanceWalkingRunning, unit: .meter, source: source, start: time, end: next,
                        value: steps * random.real(0.7...0.8)))
                time = next + Int64(random.whole(1...20))
            }
        }
        return rows
    }
}
