import ColumnFormat
import HealthModel
import LMDB

/// Seals the bodies of a store's values by the cipher of the app.
///
/// Keys stay readable: they are the order of the tables. So do the few records that tell what the file is and how it is
/// to be opened, which hold no sample and no name.
final class SealedBodies: ValueCipher {
    private let sealer: any StoreSealer
    /// The identity of the store, to which its values are bound; `nil` until the file is looked at.
    private let store: Monitor<[UInt8]?>

    init(_ sealer: any StoreSealer, of store: SampleID? = nil) {
        self.sealer = sealer
        self.store = Monitor(store.map(SealedBodies.bytes))
    }

    /// Begins to seal and open the values of a store.
    func begin(_ store: SampleID) { self.store.withLock { $0 = SealedBodies.bytes(store) } }

    private static func bytes(_ id: SampleID) -> [UInt8] {
        var writer = ByteWriter(reserving: 16)
        writer.appendBigEndian(id.high)
        writer.appendBigEndian(id.low)
        return writer.bytes
    }

    func seal(_ value: RawSpan) throws(LMDBError) -> [UInt8]? {
        guard let table = SealedBodies.sealedTable(of: value) else { return nil }
        do {
            guard let store = store.withLock({ $0 }), !SealedValue.isSealed(value) else {
                throw FormatError(.sealed, "body")
            }
            return try SealedValue.seal(value, table: table) { try sealer.seal($0, binding: store + $1) }
        } catch {
            throw LMDBError(.notSealed, operation: "seal", path: "\(type(of: sealer))")
        }
    }

    func open(_ stored: RawSpan) -> [UInt8]? {
        do {
            return try opened(stored)
        } catch {
            // Who has no key must not put values of his own into the file: they read as cut off.
            return SealedValue.isSealed(stored) ? nil : []
        }
    }

    /// Returns the value of which the stored bytes are the sealed form; `nil` for a value that stays readable. Throws
    /// for bytes that were not made with the key.
    func opened(_ stored: RawSpan) throws(FormatError) -> [UInt8]? {
        guard let table = SealedBodies.sealedTable(of: stored) else { return nil }
        guard SealedValue.isSealed(stored), let store = store.withLock({ $0 }),
            let value = try? SealedValue.open(stored, table: table, { try sealer.open($0, binding: store + $1) })
        else { throw FormatError(.sealed, "body in \(table.name)") }
        return value
    }

    /// Returns the table of a value that is sealed in a sealed store; `nil` for a value that stays readable, and for
    /// bytes that are no value.
    static func sealedTable(of value: RawSpan) -> TableCode? {
        guard let table = SealedValue.table(of: value) else { return nil }
        return table == .meta && isReadable(value) ? nil : table
    }

    /// The keys of the records of `meta` that stay readable.
    private static let readable = [StoreHeader.key, RestoreMark.key, Journal.key, SealRecord.key]

    private static func isReadable(_ value: RawSpan) -> Bool {
        guard let key = SealedValue.key(of: value) else { return true }
        return readable.contains { key.isEqual(to: $0) }
    }
}
