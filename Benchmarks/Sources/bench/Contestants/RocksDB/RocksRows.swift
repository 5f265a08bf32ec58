import CRocksDB
import Foundation
import HealthKV
import Synchronization

/// One row per sample in RocksDB: column families in the order of type and time, by UUID, and by sync identifier.
final class RocksRows {
    let database: RocksDatabase
    var book = KindBook()
    /// The number of rows in the last read of a type, as the capacity for the next.
    var lastCounts: [SampleType: Int] = [:]
    private let sequence = Atomic<UInt64>(0)
    private static let bookKey = Array("book".utf8)

    init(folder: String) throws {
        database = try RocksDatabase(folder: folder)
        if let bytes = try database.get(RocksRows.bookKey, .names) {
            book = try JSONDecoder().decode(KindBook.self, from: Data(bytes))
        }
        let last = RocksIterator(database, .pending)
        if last.seekToLast() { sequence.store(last.keyWord(0).bigEndian, ordering: .relaxed) }
    }

    func close() { database.close() }

    /// Imports a batch in one durable commit; compares known rows and replaces those that differ.
    func importBatch(_ batch: SampleBatch) throws -> ImportCounts {
        let numbers = batch.kinds.map { book.number(of: RowKind($0)) }
        let types = numbers.map { book.typeNumber(ofKind: $0) }
        let order = (0..<batch.count).sorted { batch.ids[$0] < batch.ids[$1] }
        let places = try database.values(of: order.map { RocksLayout.id(batch.ids[$0]) }, .ids)
        let changes = RocksBatch(database)
        var syncPlaces: [String: [UInt8]] = [:]
        var counts = ImportCounts()
        for (row, place) in zip(order, places) {
            let kind = Int(batch.kindOfRow[row])
            let new = RocksRow(
                key: RocksLayout.key(types[kind], batch.starts[row], batch.ids[row]),
                value: try RocksLayout.value(
                    end: batch.ends[row], batch.values[row], numbers[kind], RowExtras.bytes(batch.extras[row])),
                place: RocksLayout.place(numbers[kind], batch.starts[row]))
            book.note(duration: batch.ends[row] - batch.starts[row], ofType: types[kind])
            if let place {
                let oldKey = RocksLayout.key(place, batch.ids[row], book)
                let old = try database.get(oldKey, .samples)
                if oldKey == new.key && old == new.value {
                    counts.unchanged += 1
                    continue
                }
                changes.delete(oldKey, .samples)
                counts.replaced += 1
            } else {
                counts.inserted += 1
            }
            changes.put(new.key, new.value, .samples)
            changes.put(RocksLayout.id(batch.ids[row]), new.place, .ids)
            if place == nil, let text = batch.extras[row]?.syncIdentifier {
                let known = try syncPlaces[text] ?? database.get(Array(text.utf8), .sync)
                syncPlaces[text] = (known ?? []) + RocksLayout.id(batch.ids[row])
            }
        }
        for (text, ids) in syncPlaces { changes.put(Array(text.utf8), ids, .sync) }
        try addBook(to: changes)
        try changes.commit()
        return counts
    }

    private func addBook(to changes: RocksBatch) throws {
        if book.isChanged { changes.put(RocksRows.bookKey, try Array(book.bytes()), .names) }
    }

    /// Saves one sample durably, with a pending operation for a peer.
    func save(_ sample: Sample) throws {
        let kind = book.number(of: RowKind(sample))
        book.note(
            duration: sample.end.nanoseconds - sample.start.nanoseconds, ofType: book.typeNumber(ofKind: kind))
        try save(sample, kind: kind, withBook: true)
    }

    /// Any thread may call this once the kind is known.
    private func save(_ sample: Sample, kind: UInt16, withBook: Bool) throws {
        var batch = SampleBatch()
        batch.append(sample)
        let id = RocksLayout.id(sample.id)
        guard try database.get(id, .ids) == nil else { throw BenchFailure("RocksDB: a new sample was there already") }
        let changes = RocksBatch(database)
        changes.put(
            RocksLayout.key(book.typeNumber(ofKind: kind), sample.start.nanoseconds, sample.id),
            try RocksLayout.value(
                end: sample.end.nanoseconds, sample.quantity.value, kind, RowExtras.bytes(batch.extras[0])), .samples)
        changes.put(id, RocksLayout.place(kind, sample.start.nanoseconds), .ids)
        let number = sequence.wrappingAdd(1, ordering: .relaxed).newValue
        changes.put(RocksLayout.bytes(number.bigEndian), id, .pending)
        if withBook { try addBook(to: changes) }
        try changes.commit()
    }

    /// In RocksDB, writers that wait at the same time share one sync of its log.
    func save(_ samples: [Sample], from writers: Writers) throws -> Bool {
        guard writers == .threads else { return false }
        for sample in samples {
            let kind = book.number(of: RowKind(sample))
            book.note(
                duration: sample.end.nanoseconds - sample.start.nanoseconds, ofType: book.typeNumber(ofKind: kind))
        }
        let changes = RocksBatch(database)
        try addBook(to: changes)
        try changes.commit()
        let kinds = samples.map { book.number(of: RowKind($0)) }
        let shared = Shared(self)
        try ManyThreads.run(samples.count) { try shared.value.save(samples[$0], kind: kinds[$0], withBook: false) }
        return true
    }

    /// Gives a sample another value, durably.
    func edit(_ id: SampleID, value: Double) throws {
        guard let place = try database.get(RocksLayout.id(id), .ids) else { throw BenchFailure("edit: no sample") }
        let key = RocksLayout.key(place, id, book)
        guard var bytes = try database.get(key, .samples) else { throw BenchFailure("edit: no row") }
        bytes.replaceSubrange(8..<16, with: RocksLayout.bytes(value.bitPattern))
        let changes = RocksBatch(database)
        changes.put(key, bytes, .samples)
        try changes.commit()
    }

    /// Removes a sample durably; returns `true` if it existed.
    func delete(_ id: SampleID) throws -> Bool {
        let idBytes = RocksLayout.id(id)
        guard let place = try database.get(idBytes, .ids) else { return false }
        let changes = RocksBatch(database)
        let key = RocksLayout.key(place, id, book)
        if let row = try database.get(key, .samples),
            let text = try RocksLayout.fields(key, row).sample(book).syncIdentifier,
            var ids = try database.get(Array(text.utf8), .sync)
        {
            let at = stride(from: 0, to: ids.count, by: 16).first { Array(ids[$0..<$0 + 16]) == idBytes }
            if let at { ids.removeSubrange(at..<at + 16) }
            changes.put(Array(text.utf8), ids, .sync)
        }
        changes.delete(key, .samples)
        changes.delete(idBytes, .ids)
        try changes.commit()
        return true
    }
}

/// A row to be written.
private struct RocksRow {
    let key: [UInt8]
    let value: [UInt8]
    let place: [UInt8]
}
