import ColumnFormat
import LMDB

/// The record that a sealed store has in its table `meta`: it says that the store is sealed, and proves the key.
struct SealRecord: Sendable {
    static let key: [UInt8] = Array("seal".utf8)
    private static let version: UInt8 = 1
    private static let text: [UInt8] = Array("HealthKV".utf8)

    /// A text that everybody knows, sealed: only the right key gets it back.
    private let proof: [UInt8]

    init(sealing sealer: any StoreSealer) throws { proof = try sealer.seal(SealRecord.text, binding: SealRecord.key) }

    init(_ span: RawSpan) throws(FormatError) {
        var record = try RecordReader(span, table: .meta, key: SealRecord.key)
        let version = try record.read(UInt8.self)
        guard version == SealRecord.version else {
            throw FormatError(ofVersion: UInt32(version), current: UInt32(SealRecord.version), "version of the seal")
        }
        proof = try record.readBytes()
    }

    func value(stamp: CommitStamp) -> [UInt8] {
        var record = RecordWriter()
        record.append(SealRecord.version)
        record.append(proof)
        return record.value(table: .meta, key: SealRecord.key, stamp: stamp)
    }

    /// Returns the record of a store; `nil` if the store is not sealed.
    static func read(_ view: View, _ tables: OpenTables) throws -> SealRecord? {
        guard let span = try view.get(tables[.meta], key) else { return nil }
        return try SealRecord(span)
    }

    /// How many bytes a sealed value has more than before: those of the cipher, and a checksum where they need a block
    /// of their own.
    var overhead: Int { max(0, proof.count - SealRecord.text.count) + 4 }

    /// Returns `true` if a sealer has the key with which the proof was made. It may throw instead of returning `false`.
    func isProved(by sealer: any StoreSealer) throws -> Bool {
        try sealer.open(proof, binding: SealRecord.key) == SealRecord.text
    }

    /// Throws unless a sealer has the key of a store, and also if the store is not sealed and a sealer was given: what
    /// it holds could be anybody's.
    ///
    /// - Parameter ignoresSeal: whether a sealed store may be opened without its key.
    static func verify(
        _ record: SealRecord?, _ sealer: (any StoreSealer)?, ignoresSeal: Bool, _ path: String
    ) throws(StoreError) {
        guard let record else {
            if sealer == nil { return }
            throw StoreError(.wrongKey, path: path, "The store is not sealed, and a sealer was given")
        }
        guard let sealer else {
            if ignoresSeal { return }
            throw StoreError(.wrongKey, path: path, "The store is sealed, and no sealer was given")
        }
        let (isProved, underlying): (Bool, (any Error)?)
        do { (isProved, underlying) = (try record.isProved(by: sealer), nil) } catch {
            (isProved, underlying) = (false, error)
        }
        guard isProved else {
            throw StoreError(
                .wrongKey, path: path, "The store is sealed with another key than the one that was given",
                underlying: underlying)
        }
    }
}
