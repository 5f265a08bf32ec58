import HealthModel
import Testing
import TestSupport

@testable import ColumnFormat

/// Encodes rows as the two values of a chunk and decodes them again.
@Suite struct ChunkTests {
    @Test("Every way of reading returns all rows", arguments: [1, 2, 3, 64, 65, 300, ChunkEncoder.rowLimit])
    func roundTrip(count: Int) throws {
        var random = SeededGenerator()
        for round in 0..<(count > 500 ? 3 : 20) {
            let chunk = TestChunk(count, &random)
            let (hot, details) = chunk.encode()
            let rows = try readEverything(hot, details, chunk.key)
            #expect(rows.map(\.everything) == chunk.rows.map(\.everything), "round \(round)")
        }
    }

    @Test("The planned size is the encoded size")
    func plannedSize() {
        var random = SeededGenerator()
        let encoder = ChunkEncoder(pageSize: 4_096)
        for _ in 0..<60 {
            let chunk = TestChunk(random.number(1..<400), &random)
            let plan = encoder.plan(chunk.rows[...])
            let hot = chunk.encode().hot
            #expect(plan.rows == chunk.rows.count)
            // A column of flags that are all zero is planned and then omitted.
            #expect(hot.count <= plan.byteCount && plan.byteCount - hot.count <= 24 + 4)
        }
    }

    @Test("A chunk without rows still owns its span")
    func empty() throws {
        var random = SeededGenerator()
        let chunk = TestChunk(0, &random)
        let (hot, details) = chunk.encode(commit: 77)
        #expect(try readEverything(hot, details, chunk.key).isEmpty)
        let value = try StoredValue(hot.rawBytes, table: .chunks)
        #expect(value.commit == 77)
        #expect(value.rows == 0)
    }

    @Test("More rows than a chunk may hold are refused")
    func tooMany() throws {
        var random = SeededGenerator()
        let chunk = TestChunk(ChunkEncoder.rowLimit + 1, &random)
        let (hot, details) = chunk.encode()
        #expect(failure { try readEverything(hot, details, chunk.key) }?.code == .invalid)
    }

    @Test("A value under another key, in another table, or with the details of another chunk is refused")
    func misplaced() throws {
        var random = SeededGenerator()
        let chunk = TestChunk(20, &random)
        let (hot, details) = chunk.encode()
        var other = chunk
        other.lower = .at(-9_100_000_000_000_000_000)
        #expect(failure { try readEverything(hot, details, other.key) }?.code == .misplaced)
        #expect(failure { try readEverything(details, hot, chunk.key) }?.code == .misplaced)
        var narrower = chunk
        narrower.upper = .at(9_100_000_000_000_000_000)
        #expect(failure { try readEverything(hot, narrower.encode().details, chunk.key) }?.code == .misplaced)
        var shorter = chunk
        shorter.rows.removeLast()
        #expect(failure { try readEverything(hot, shorter.encode().details, chunk.key) }?.code == .invalid)
    }

    @Test("Rows out of order, outside of the span or of another duration class are refused")
    func disorder() throws {
        var random = SeededGenerator()
        let chunk = TestChunk(20, &random)
        var swapped = chunk
        swapped.rows.swapAt(3, 4)
        var doubled = chunk
        doubled.rows[4] = doubled.rows[3]
        var outside = chunk
        outside.lower = chunk.rows[1].point
        var behind = chunk
        behind.upper = chunk.rows[19].point
        var wrongLane = chunk
        wrongLane.lane.duration = chunk.lane.duration == .hour ? .day : .hour
        for damaged in [swapped, doubled, outside, behind, wrongLane] {
            let (hot, details) = damaged.encode()
            #expect(failure { try readEverything(hot, details, damaged.key) } != nil)
        }
    }

    @Test("A derived id whose source has no name is refused")
    func namelessSource() throws {
        var random = SeededGenerator()
        var chunk = TestChunk(5, &random)
        for index in chunk.rows.indices {
            chunk.rows[index].flags.insert(.derivedID)
            chunk.rows[index].revision = 100
        }
        let (hot, details) = chunk.encode()
        #expect(failure { try readEverything(hot, details, chunk.key) }?.code == .invalid)
    }

    @Test("The byte order of keys is the order of their points in time")
    func keyOrder() throws {
        var random = SeededGenerator()
        let instants: [Int64] = [.min, .min + 1, -1, 0, 1, .max - 1, .max]
        let ids = [SampleID.zero, SampleID(high: 0, low: 1), SampleID(high: 1 << 63, low: 0), .max]
        var keys: [ChunkKey] = []
        for _ in 0..<300 {
            let lane = Lane(type: random.pick([0, 1, 255, 256, .max]), duration: random.pick(DurationClass.allCases))
            let point = Point(start: random.pick(instants), end: random.pick(instants), id: random.pick(ids))
            keys.append(ChunkKey(lane: lane, lower: point))
        }
        for (left, right) in zip(keys, keys.dropFirst()) {
            #expect((left < right) == left.bytes.lexicographicallyPrecedes(right.bytes))
            let bytes = left.bytes
            #expect(try ChunkKey(bytes.rawBytes) == left)
        }
    }

    @Test("The duration classes are an hour, a day, 32 days, and all longer or open samples")
    func durationClasses() {
        let second: Int64 = 1_000_000_000
        let table: [(Int64, DurationClass)] = [
            (0, .hour), (3_600 * second, .hour), (3_600 * second + 1, .day), (86_400 * second, .day),
            (86_400 * second + 1, .month), (32 * 86_400 * second, .month), (32 * 86_400 * second + 1, .long),
        ]
        for start in [0, Instant.earliest.nanoseconds, 800_000_000 * second] {
            for (length, expected) in table { #expect(DurationClass(start: start, end: start + length) == expected) }
            #expect(DurationClass(start: start, end: .max) == .long)
        }
        #expect(DurationClass(start: Instant.earliest.nanoseconds, end: Instant.latest.nanoseconds - 1) == .long)
    }
}
