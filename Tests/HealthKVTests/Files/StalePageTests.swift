import ColumnFormat
import Foundation
import TestSupport
import Testing

@testable import HealthKV

/// Pages that hold what they once held: a disk forgot what it was told, or a copy of a changing file was interrupted.
/// Each of them is whole.
@Suite("Stale pages")
struct StalePageTests {
    private static let page = DamagedFile.page

    /// A reader of the feed behind all edits but the last, and what was edited.
    private struct Reader {
        var token: ChangeToken
        var ids: [SampleID]
    }

    /// A store with full chunks, of which some samples are edited again and again: its file after each edit, the last
    /// one first.
    private func states(_ file: DamagedFile) throws -> (files: [[UInt8]], reader: Reader) {
        var options = SampleStore.Options()
        options.maintainsWhenIdle = false
        options.idlePeriod = .zero
        // Each edit writes the chunks.
        options.limits.journaledCommits = 0
        let store = try SampleStore.open(at: file.folder.path, options: options)
        let samples = try store.read { try $0.samples(of: .stepCount) }
        var states: [[UInt8]] = []
        var token = try store.read { $0.currentToken }
        for round in 0..<24 {
            token = try store.read { $0.currentToken }
            for place in [700, 1_700, 2_700] {
                var sample = samples[place]
                sample.quantity.value = Double(100_000 + round * 10_000 + place)
                sample.version = 0
                try store.save(sample)
            }
            states.insert(try file.bytes, at: 0)
        }
        try store.close()
        let reader = Reader(token: token, ids: [700, 1_700, 2_700].map { samples[$0].id })
        return ([try file.bytes] + states.dropFirst(), reader)
    }

    /// What the store answers, in six ways; `nil` where any of them is refused.
    private func answers(_ file: DamagedFile, _ reader: Reader) throws -> [[Double]]? {
        var options = SampleStore.Options()
        (options.readOnly, options.createIfMissing) = (true, false)
        do {
            let store = try SampleStore.open(at: file.folder.path, options: options)
            defer { try? store.close() }
            return try store.read { txn in
                let sum = try txn.fold(.stepCount, into: 0.0) { sum, _, values in
                    for index in values.indices { sum += values[index] }
                }
                let day = try txn.statistics(
                    .stepCount, by: .day, from: .day(0), to: .day(400), options: CumulativeOptions())
                let told = try txn.changes(since: reader.token).changes.map { change -> Double in
                    if case .saved(let sample) = change.kind { sample.quantity.value } else { -1 }
                }
                return [
                    told, try reader.ids.map { try txn.sample(id: $0)?.quantity.value ?? -1 },
                    try txn.samples(of: .stepCount).map(\.quantity.value), [sum],
                    try txn.series(.stepCount).values, day.map { $0.sum ?? 0 },
                ]
            }
        } catch let error as StoreError where error.code == .damaged {
            return nil
        }
    }

    private func isClean(_ file: DamagedFile) -> Bool {
        (try? SampleStore.check(at: file.folder.path))?.isClean ?? false
    }

    @Test(
        "Long values of chunks that are as they were some commits ago are told by reading and by the check",
        arguments: [[.chunks], [.chunks, .details], [.details]] as [[TableCode]])
    func chunks(tables: [TableCode]) throws {
        let file = try DamagedFile()
        let (states, reader) = try states(file)
        let right = try #require(try answers(file, reader))
        var stale = 0
        for old in states.dropFirst() {
            var bytes = states[0]
            var isChanged = false
            for page in 2..<min(bytes.count, old.count) / Self.page {
                let at = page * Self.page
                // The first page of a long value, with the number of its pages.
                guard bytes[at + 10] == 4, old[at..<at + 17] == bytes[at..<at + 17],
                    tables.map(\.rawValue).contains(bytes[at + 16])
                else { continue }
                let end = min(bytes.count, old.count, at + (Int(bytes[at + 12]) | Int(bytes[at + 13]) << 8) * Self.page)
                if bytes[at..<end] != old[at..<end] { isChanged = true }
                bytes.replaceSubrange(at..<end, with: old[at..<end])
            }
            guard isChanged else { continue }
            stale += 1
            try file.change { $0 = bytes }
            let found = try answers(file, reader)
            #expect(found == nil || found == right)
            #expect(!isClean(file) || found == right)
        }
        #expect(stale > 1, "pages were used again for the same chunks")
    }

    @Test("A file whose tail is of an older state, from any page on, answers rightly or says that it is damaged")
    func tails()
        throws
    {
        let file = try DamagedFile()
        let (states, reader) = try states(file)
        let right = try #require(try answers(file, reader))
        var told = 0
        for old in states.dropFirst() {
            for page in 1..<min(states[0].count, old.count) / Self.page {
                var bytes = states[0]
                let (at, end) = (page * Self.page, min(bytes.count, old.count))
                if bytes[at..<end] == old[at..<end] { break }
                bytes.replaceSubrange(at..<end, with: old[at..<end])
                try file.change { $0 = bytes }
                let found = try answers(file, reader)
                if found == nil { told += 1 }
                #expect(found == nil || found == right, "from page \(page)")
                #expect(found == right || !isClean(file), "from page \(page)")
            }
        }
        #expect(told > 0)
    }
}
