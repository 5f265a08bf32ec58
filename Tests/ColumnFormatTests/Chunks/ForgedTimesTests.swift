import HealthModel
import Testing

@testable import ColumnFormat

/// Chunks with correct checksums and times that would overflow the arithmetic.
@Suite struct ForgedTimesTests {
    private func verify(_ spans: [(start: Int64, end: Int64)], _ duration: DurationClass) throws {
        let key = ChunkKey(lane: Lane(type: 1, duration: duration), lower: .least)
        let rows = spans.enumerated().map { number, span in
            StoredRow(
                start: span.start, end: span.end, id: SampleID(high: 1, low: UInt64(number)), value: 1, unit: 1,
                revision: 1, flags: [], version: 1, clockTime: 0, clockReplica: 0, commit: 1, ordinal: 1)
        }
        let encoder = ChunkEncoder(pageSize: 4_096)
        let bytes = encoder.encodeHot(
            encoder.plan(rows[...]), key: key, upper: .greatest, stamp: CommitStamp(commit: 1, session: 5))
        try HotChunk(bytes.rawBytes, key: key.bytes.rawBytes).verify()
    }

    private static let (first, last) = (Instant.earliest.nanoseconds, Instant.latest.nanoseconds - 1)

    @Test(
        "Starts outside the limits are refused before a column of them is read", arguments: DurationClass.allCases)
    func starts(_ duration: DurationClass) throws {
        for start in [Int64.min, Self.first - 1, Self.last + 1, .max] {
            #expect(throws: FormatError.self) { try verify([(start, start)], duration) }
            #expect(throws: FormatError.self) { try verify([(0, 0), (start, start)], duration) }
        }
    }

    @Test("Ends before their starts, and ends that overflow, are refused before a column of them is read")
    func ends() throws {
        for end in [Int64.min, -2, Self.last + 1] {
            #expect(throws: FormatError.self) { try verify([(0, end)], .long) }
        }
        #expect(throws: FormatError.self) { try verify([(0, -2)], .hour) }
        #expect(throws: FormatError.self) { try verify([(0, 1 << 60)], .hour) }
    }

    @Test("Every valid time is accepted, however far apart neighbouring samples are")
    func sound() throws {
        let (first, last, hour) = (Self.first, Self.last, Int64(3_600_000_000_000))
        let far: [(start: Int64, end: Int64)] = [(first, last), (first, .max), (0, 0), (7, last), (last, last)]
        try verify(far, .long)
        let near: [(start: Int64, end: Int64)] = [(first, first), (0, hour), (last, last)]
        try verify(near, .hour)
        for count in [2, 63, 2_000] as [Int64] {
            var growing: [(start: Int64, end: Int64)] = []
            for row in 0..<count {
                let start = row * row * 999_999_937
                growing.append((start, start))
            }
            try verify(growing, .hour)
        }
    }
}
