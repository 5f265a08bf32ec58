import ColumnFormat
import HealthModel
import PageReader
import Salvage

/// Finds the identity to which the values of a damaged store are bound, and whether a sealer has their key.
///
/// Any of the records that tell it may be lost: the header, which anybody can read and change, its copy, which only the
/// key makes, and the proof of the key. What most values open with is the truth.
struct SealedIdentity {
    private let sealer: any StoreSealer
    private var seals: [SealRecord] = []
    /// What headers say.
    private var claimed: [SampleID] = []
    /// What copies of headers say that open with the key.
    private var proven: [SampleID] = []
    /// Some of the sealed values.
    private var others: [[UInt8]] = []
    private var hasReadableValues = false

    private static let othersLimit = 64

    private init(_ sealer: any StoreSealer) { self.sealer = sealer }

    /// Returns the identity of the store in a folder. Throws if its values cannot be opened.
    static func find(
        _ folder: String, _ file: PageFile, _ metas: MetaPages, _ sealer: any StoreSealer, _ rules: SalvageRules,
        _ step: () throws -> Void
    ) throws -> SampleID {
        var search = SealedIdentity(sealer)
        if let meta = metas.newest {
            let tables = [TableCode.meta.name, TableCode.upkeep.name]
            let walk = try SnapshotWalk(file, meta, visits: tables.contains) { entry in
                try step()
                guard let table = TableCode(name: entry.table) else { return }
                do throws(PageFileError) { search.note(table, entry.key, try entry.value()) } catch {
                    if error.isOfSystem { throw error }
                }
            }
            if let failure = walk.failure { throw failure }
            if let id = search.agreed { return id }
        }
        try Salvage.forEachValue(in: file, metas, rules, step: step) { search.note($0.table, $0.key, $1) }
        return try search.decided(folder)
    }

    private mutating func note(_ table: TableCode, _ key: [UInt8], _ value: [UInt8]) {
        switch (table, key) {
        case (.meta, StoreHeader.key):
            if let header = try? StoreHeader(value.rawBytes) { claimed.append(header.storeID) }
        case (.meta, SealRecord.key):
            if let seal = try? SealRecord(value.rawBytes) { seals.append(seal) }
        case (.upkeep, HeaderCopy.key) where SealedValue.isSealed(value.rawBytes):
            if let id = SealedBodies.identity(inCopy: value, sealer) { proven.append(id) }
        default:
            guard SealedBodies.sealedTable(of: value.rawBytes) != nil else { return }
            if !SealedValue.isSealed(value.rawBytes) {
                hasReadableValues = true
            } else if others.count < SealedIdentity.othersLimit {
                others.append(value)
            }
        }
    }

    /// The identity, if header and copy in the trees name the same one, and the key is proved.
    private var agreed: SampleID? {
        guard seals.contains(where: isProved), let id = proven.last, claimed.last == id else { return nil }
        return id
    }

    private func isProved(_ seal: SealRecord) -> Bool { (try? seal.isProved(by: sealer)) == true }

    private func decided(_ folder: String) throws -> SampleID {
        if seals.isEmpty, proven.isEmpty, others.isEmpty, hasReadableValues || !claimed.isEmpty {
            throw StoreError(.wrongKey, path: folder, "The store is not sealed, and a sealer was given")
        }
        var best: (id: SampleID, opened: Int)?
        for id in proven.reversed() + claimed.reversed() {
            let bodies = SealedBodies(sealer, of: id)
            let opened = others.count { (try? bodies.opened($0.rawBytes)) != nil }
            if opened > best?.opened ?? -1 { best = (id, opened) }
        }
        let isKnown = !proven.isEmpty || best.map { $0.opened > 0 } ?? false || seals.contains(where: isProved)
        if !isKnown, !seals.isEmpty || best != nil && !others.isEmpty {
            throw StoreError(
                .wrongKey, path: folder, "The store is sealed with another key than the one that was given")
        }
        guard let best else {
            var refusal = StoreError(
                .damaged, path: folder,
                "Nothing can be saved: the header and its copy are lost, and without the identity of the store in them "
                    + "no value can be opened")
            refusal.remedy = "Restore a copy of the folder, or load a dump."
            throw refusal
        }
        return best.id
    }
}
