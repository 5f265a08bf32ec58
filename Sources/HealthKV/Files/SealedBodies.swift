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
            let place = SealedBodies.isCopyOfHeader(value, table) ? [] : store
            return try SealedValue.seal(value, table: table) { try sealer.seal($0, binding: place + $1) }
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
        guard let table = SealedBodies.sealedTable(of: stored) else {
            if SealedValue.isSealed(stored) { throw FormatError(.sealed, "body of a readable record") }
            return nil
        }
        guard SealedValue.isSealed(stored), let store = store.withLock({ $0 }) else {
            throw FormatError(.sealed, "body in \(table.name)")
        }
        let isCopy = SealedBodies.isCopyOfHeader(stored, table)
        guard let value = SealedBodies.opened(stored, table, isCopy ? [] : store, sealer) else {
            throw FormatError(.sealed, "body in \(table.name)")
        }
        // Nobody puts the copy of another store here.
        if isCopy, try SealedBodies.bytes(HeaderCopy.read(value.rawBytes).header.storeID) != store {
            throw FormatError(.misplaced, "store of the header's copy")
        }
        return value
    }

    private static func opened(
        _ stored: RawSpan, _ table: TableCode, _ place: [UInt8], _ sealer: any StoreSealer
    ) -> [UInt8]? {
        try? SealedValue.open(stored, table: table) { try sealer.open($0, binding: place + $1) }
    }

    /// Returns the identity of the store that a sealed copy of a header names; `nil` if it does not open.
    static func identity(inCopy stored: [UInt8], _ sealer: any StoreSealer) -> SampleID? {
        guard let value = opened(stored.rawBytes, .upkeep, [], sealer) else { return nil }
        return try? HeaderCopy.read(value.rawBytes).header.storeID
    }

    /// Whether a value is the copy of the header. It is bound to no store, because it tells which one it is where the
    /// header is lost.
    private static func isCopyOfHeader(_ value: RawSpan, _ table: TableCode) -> Bool {
        table == .upkeep && SealedValue.key(of: value)?.isEqual(to: HeaderCopy.key) == true
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
