import ColumnFormat
import TestSupport
import Testing

@testable import HealthKV

/// What a process remembers of the chunks that it wrote must be what decoding them would give.
@Suite struct WrittenChunksTests {
    private static func weights(_ store: SampleStore) throws -> [Double] {
        try store.read { try $0.samples(of: .bodyMass).map(\.quantity.value) }
    }

    private static func key(_ store: SampleStore) throws -> ChunkKey {
        try store.read { txn in
            let type = try NameTable.number(of: .bodyMass, in: txn.snapshot)!
            return try ChunkTable.chunkKeys(Lane(type: type, duration: .hour), in: txn.snapshot).last!
        }
    }

    @Test("The tail of a type is remembered from one write to the next, with every kind of field")
    func remembered() throws {
        try withStore(options: tightOptions()) { store throws in
            for day in 0..<40 {
                var sample = Sample(.bodyMass, 70 + Double(day) / 10, .kilogram, at: .day(day))
                if day % 2 == 0 { sample.syncIdentifier = "weight-\(day)" }
                if day % 3 == 0 {
                    sample.metadata = ["note": .string("after \(day % 5) km"), "place": .number(Double(day))]
                }
                if day % 5 == 0 { sample.local = ["mood": .string("well")] }
                if day % 7 == 0 { (sample.group, sample.timeZone) = ("morning", "Europe/Vienna") }
                if day % 4 == 1 { (sample.origin, sample.source) = (.imported, Source(bundle: "scale", name: "Scale")) }
                try store.write { [sample] txn in try txn.save(sample) }
                let entry = try store.core.writtenChunks.take(Self.key(store))
                #expect(entry?.rows.isEmpty == false)
                if let entry {
                    store.core.writtenChunks.note(entry.key, hot: entry.hot, details: entry.details, entry.rows[...])
                }
            }
            #expect(try Self.weights(store).count == 40)
            #expect(try store.check().isClean)
        }
    }

    @Test("What a failed call wrote is not taken for what the store holds")
    func undone() throws {
        struct Failure: Error {}
        try withStore(options: tightOptions()) { store throws in
            try store.write { try $0.save(Sample(.bodyMass, 70, .kilogram, at: .day(0))) }
            #expect(throws: Failure.self) {
                try store.write { txn in
                    try txn.save(Sample(.bodyMass, 71, .kilogram, at: .day(1)))
                    throw Failure()
                }
            }
            try store.write { txn in
                try? txn.nested { inner in
                    try inner.save(Sample(.bodyMass, 72, .kilogram, at: .day(2)))
                    throw Failure()
                }
                try txn.save(Sample(.bodyMass, 73, .kilogram, at: .day(3)))
            }
            #expect(try Self.weights(store) == [70, 73])
            #expect(try store.check().isClean)
        }
    }

    @Test("Rows that are remembered of other bytes do not count")
    func otherBytes() throws {
        var options = tightOptions()
        // The comparison would end the process; without it the wrong rows would be stored.
        options.limits.comparesWrittenChunks = false
        try withStore(options: options) { store throws in
            for day in 0..<3 { try store.write { try $0.save(Sample(.bodyMass, 70, .kilogram, at: .day(day))) } }
            let entry = try #require(try store.core.writtenChunks.take(Self.key(store)))
            #expect(entry.rows.count == 3)
            var details = entry.details
            details[details.count - 1] ^= 1
            store.core.writtenChunks.note(entry.key, hot: entry.hot, details: details, entry.rows.prefix(1))
            try store.write { try $0.save(Sample(.bodyMass, 74, .kilogram, at: .day(3))) }
            #expect(try Self.weights(store) == [70, 70, 70, 74])
        }
    }

    @Test("The planted fault: rows that are not those of the bytes change what the store holds")
    func planted() throws {
        var options = tightOptions()
        options.limits.comparesWrittenChunks = false
        let store = try SampleStore.temporary(options: options)
        for day in 0..<3 { try store.write { try $0.save(Sample(.bodyMass, 70, .kilogram, at: .day(day))) } }
        let entry = try #require(try store.core.writtenChunks.take(Self.key(store)))
        store.core.writtenChunks.note(entry.key, hot: entry.hot, details: entry.details, entry.rows.prefix(1))
        try store.write { try $0.save(Sample(.bodyMass, 75, .kilogram, at: .day(4))) }
        #expect(try Self.weights(store) == [70, 75])
    }
}
