import ColumnFormat
import LMDB

/// Seals the bodies of a store's values by the cipher of the app.
///
/// Keys stay readable: they are the order of the tables. So do the few records that tell what the file is and how it is
/// to be opened, which hold no sample and no name.
struct SealedBodies: ValueCipher {
    private let sealer: any StoreSealer

    init(_ sealer: any StoreSealer) { self.sealer = sealer }

    func seal(_ value: RawSpan) throws(LMDBError) -> [UInt8]? {
        guard let table = SealedBodies.sealedTable(of: value), !SealedValue.isSealed(value) else { return nil }
        do {
            return try SealedValue.seal(value, table: table) { try sealer.seal($0, binding: $1) }
        } catch {
            throw LMDBError(.notSealed, operation: "seal", path: "\(type(of: sealer))")
        }
    }

    func open(_ stored: RawSpan) -> [UInt8]? {
        guard let table = SealedBodies.sealedTable(of: stored) else { return nil }
        // Who has no key must not put values of his own into the file: they read as cut off.
        guard SealedValue.isSealed(stored) else { return [] }
        return try? SealedValue.open(stored, table: table) { try sealer.open($0, binding: $1) }
    }

    /// Returns the table of a value that is to be sealed; `nil` for a value that stays readable, and for bytes that are
    /// no value.
    private static func sealedTable(of value: RawSpan) -> TableCode? {
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
