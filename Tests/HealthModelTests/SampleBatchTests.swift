import HealthModel
import Testing

@Suite("Batches of samples")
struct SampleBatchTests {
    @Test("Copies of rare fields change apart")
    func extrasAreValues() {
        var first = SampleBatch.Extras()
        let none = first
        first.group = "meal"
        first.metadata["food"] = .string("soup")
        var second = first
        #expect(second == first && second.identity == first.identity && second.hashValue == first.hashValue)
        second.count = 3
        second.metadata["food"] = .string("bread")
        #expect(first.count == 1 && first.metadata["food"] == .string("soup") && second != first)
        #expect(second.identity != first.identity && none == SampleBatch.Extras() && none.group == nil)
        second.count = 1
        second.metadata["food"] = .string("soup")
        #expect(second == first && second.identity != first.identity)
    }

    @Test("Rare fields of rows that share them change for one row only")
    func sharedRows() {
        var batch = SampleBatch()
        let kind = batch.kind(.stepCount, .count, source: Source(name: "Phone"))
        var rare = SampleBatch.Extras()
        rare.timeZone = "Asia/Kathmandu"
        for row in 0..<3 {
            batch.append(
                kind: kind, start: Instant(nanoseconds: Int64(row)), end: Instant(nanoseconds: 9), value: 1,
                id: SampleID(), modified: ChangeClock(time: Instant(nanoseconds: 5), replica: 7))
            batch.setExtras(rare, row: row)
        }
        rare.modified = ChangeClock(time: Instant(nanoseconds: 6), replica: 7)
        batch.setExtras(rare, row: 1)
        batch.mapClocks { clock, _ in ChangeClock(time: clock.time, replica: 9) }
        #expect((0..<3).map { batch.modified(at: $0)?.replica } == [9, 9, 9])
        #expect((0..<3).map { batch.modified(at: $0)?.time.nanoseconds } == [5, 6, 5])
        #expect(rare.modified?.replica == 7 && batch.sample(at: 2).timeZone == "Asia/Kathmandu")
    }
}
