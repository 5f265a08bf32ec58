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

    private let reversion = Sample.Reversion(version: 9, modified: ChangeClock(time: .latest, replica: 3))

    @Test("A workout, an original and a reversion decode unchanged, and equal ones encode to equal bytes")
    func roundTrip() throws {
        let bytes = try #require(PayloadCoding.encode(workout))
        #expect(try PayloadCoding.decode(bytes) == workout)
        #expect(PayloadCoding.encode(try PayloadCoding.decode(bytes)) == bytes)
        var bare = original
        bare.modified = nil
        for original in [original, bare] {
            let bytes = try #require(OriginalCoding.encode(original))
            #expect(try OriginalCoding.decode(bytes) == original)
        }
        let taken = try #require(ReversionCoding.encode(reversion))
        #expect(try ReversionCoding.decode(taken) == reversion)
        #expect(PayloadCoding.encode(nil) == nil && OriginalCoding.encode(nil) == nil)
        #expect(ReversionCoding.encode(nil) == nil)
    }

    @Test("Truncated, changed or invented bytes are refused or read, and never trap")
    func damage() throws {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededGenerator(seed: seed)
        let (payload, beneath) = (PayloadCoding.encode(workout)!, OriginalCoding.encode(original)!)
        for length in payload.indices {
            #expect(throws: FormatError.self) { try PayloadCoding.decode(Array(payload[..<length])) }
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
            _ = try? PayloadCoding.decode(bytes)
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
