import HealthModel
import Testing
import TestSupport

@testable import ColumnFormat

/// Encodes and decodes payloads, originals and reversions.
@Suite struct PayloadCodingTests {
    private var workout: Workout {
        let (start, end) = (Instant(nanoseconds: 5), Instant(nanoseconds: 9))
        var workout = Workout(.swimBikeRun, energy: Quantity(.nan, .kilocalorie), distance: Quantity(-0.0, .mile))
        workout.statistics = [
            WorkoutStatistics(.heartRate, from: start, to: end, average: Quantity(131, .countPerMinute))
        ]
        workout.events = [WorkoutEvent(.pause, from: start, to: end, metadata: ["é": .date(.distantPast)])]
        workout.activities = [
            WorkoutActivity(
                WorkoutActivityType(rawValue: 77), from: start, to: .distantFuture, duration: Quantity(3, .minute),
                id: SampleID(high: 1, low: 2), metadata: ["a": .bool(true)], statistics: workout.statistics,
                events: workout.events)
        ]
        return workout
    }

    private var original: Sample.Original {
        Sample.Original(
            start: .earliest, end: .distantFuture, quantity: Quantity(5.5, try! HealthUnit(symbol: "mmol<180>/L")),
            isUserEntered: true, metadata: ["k": .quantity(Quantity(1, .watt))], version: 7,
            modified: ChangeClock(time: .distantPast, replica: .max))
    }

    private func decoded(_ bytes: [UInt8]) throws -> Workout? {
        var sample = Sample(.workout, 1, .minute, at: .earliest)
        try PayloadCoding.decode(bytes, into: &sample)
        return sample.workout
    }

    private let reversion = Sample.Reversion(version: 9, modified: ChangeClock(time: .latest, replica: 3))

    @Test("A workout, an original and a reversion decode unchanged, and equal ones encode to equal bytes")
    func roundTrip() throws {
        let bytes = try #require(PayloadCoding.encode(workout, nil))
        #expect(try decoded(bytes) == workout)
        #expect(PayloadCoding.encode(try decoded(bytes), nil) == bytes)
        var bare = original
        bare.modified = nil
        for original in [original, bare] {
            let bytes = try #require(OriginalCoding.encode(original))
            #expect(try OriginalCoding.decode(bytes) == original)
        }
        let taken = try #require(ReversionCoding.encode(reversion))
        #expect(try ReversionCoding.decode(taken) == reversion)
        #expect(PayloadCoding.encode(nil, nil) == nil && OriginalCoding.encode(nil) == nil)
        #expect(ReversionCoding.encode(nil) == nil)
    }

    @Test("A route has the bytes that FORMAT.md describes")
    func route() throws {
        let second = Instant.nanosecondsPerSecond
        func point(
            _ time: Int64, _ latitude: Double, _ longitude: Double, _ altitude: Double?, _ accuracy: Double?,
            _ speed: Double
        ) -> WorkoutRoute.Point {
            WorkoutRoute.Point(
                at: Instant(nanoseconds: time * second), latitude: latitude, longitude: longitude, altitude: altitude,
                verticalAccuracy: accuracy, speed: speed)
        }
        let route = WorkoutRoute([
            point(100, 47.38, 1.0 / 3, 408.5, nil, 2), point(101, 47.37, -0.0, nil, 1e-300, 2),
            point(103, 47.38, 8.5, 408, nil, 3),
        ])
        func stored(_ number: Double) -> [UInt8] {
            (0..<8 as Range<UInt64>).map { UInt8(truncatingIfNeeded: number.bitPattern >> (8 * $0)) }
        }
        let doubles = [1.0 / 3, -0.0, 8.5].flatMap(stored)
        var bytes: [UInt8] = [2, 3, 0, 0, 0, 9, 0xC8, 1, 2, 4]
        bytes += [1, 2, 0x84, 0x4A, 1, 2, 2] + doubles
        bytes += [3, 0b101, 1, 0xEA, 0x3F, 9, 0, 4, 0b010] + stored(1e-300)
        bytes += [1, 0, 4, 0, 2, 0]
        #expect(PayloadCoding.encode(nil, route) == bytes)
        var sample = Sample(.workoutRoute, 3, .count, at: .earliest)
        try PayloadCoding.decode(bytes, into: &sample)
        #expect(sample.route == route)
    }

    @Test("Truncated, changed or invented bytes are refused or read, and never trap")
    func damage() throws {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededGenerator(seed: seed)
        let (payload, beneath) = (PayloadCoding.encode(workout, nil)!, OriginalCoding.encode(original)!)
        for length in payload.indices {
            #expect(throws: FormatError.self) { try decoded(Array(payload[..<length])) }
        }
        // An original without its clock is complete: the first encoding had no clock.
        for length in beneath.indices where length != beneath.count - 12 {
            #expect(throws: FormatError.self) { try OriginalCoding.decode(Array(beneath[..<length])) }
        }
        let taken = ReversionCoding.encode(reversion)!
        for length in taken.indices {
            #expect(throws: FormatError.self) { try ReversionCoding.decode(Array(taken[..<length])) }
        }
        for _ in 0..<5_000 {
            var (bytes, others) = (payload, beneath)
            for _ in 0..<random.number(1..<5) {
                bytes[random.number(0..<bytes.count)] = random.pick([0, 1, 0xFF, UInt8(random.number(0..<256))])
                others[random.number(0..<others.count)] = random.pick([0, 1, 0xFF, UInt8(random.number(0..<256))])
            }
            _ = try? decoded(bytes)
            _ = try? OriginalCoding.decode(others)
            _ = try? ReversionCoding.decode(others)
            _ = try? MetadataCoding.decode(others)
        }
    }

    @Test("Rows without rare fields have no columns for them, so they cost nothing")
    func nothingForNothing() throws {
        var random = SeededGenerator(seed: 7)
        var chunk = TestChunk(50, &random)
        for index in chunk.rows.indices { chunk.rows[index].rare = nil }
        let bare = chunk.encode().details
        let value = try StoredValue(bare.rawBytes, table: .details)
        for tag in 23...25 { #expect(try value.column(UInt8(tag)) == nil) }
        for tag in 28...32 { #expect(try value.column(UInt8(tag)) == nil) }
    }
}
