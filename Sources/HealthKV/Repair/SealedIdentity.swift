import ColumnFormat
import HealthModel
import LMDB
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
    /// Whether there is a whole copy of a header that another key made.
    private var hasForeignCopy = false

    private static let (othersLimit, otherBytesLimit, idsLimit) = (64, 65_536, 64)

    private init(_ sealer: any StoreSealer) { self.sealer = sealer }

    /// Returns the identity of the store in a folder. Throws if its values cannot be opened.
    static func find(
        _ folder: String, _ file: PageFile, _ metas: MetaPages, _ sealer: any StoreSealer, _ rules: SalvageRules,
        _ step: () throws -> Void
    ) throws -> SampleID {
        var search = SealedIdentity(sealer)
        // What names the store outside of the data file.
        if let id = WrittenPlace.token(of: folder)?.store { search.claimed.append(id) }
        if let journal = try? JournalFile.open(StoreFiles.journalPath(in: folder), readOnly: true),
            let id = Journal.storeID(in: journal)
        {
            search.claimed.append(id)
        }
        if let meta = metas.newest {
            var otherFormat: FormatError?
            let tables = [TableCode.meta.name, TableCode.upkeep.name]
            let walk = try SnapshotWalk(file, meta, visits: tables.contains) { entry in
                try step()
                guard let table = TableCode(name: entry.table) else { return }
                do throws(PageFileError) {
                    let value = try entry.value()
                    let isHeader = table == .meta && entry.key == StoreHeader.key
                    if isHeader, otherFormat == nil { otherFormat = StoreHeader.otherFormat(value.rawBytes) }
                    search.note(table, entry.key, value)
                } catch {
                    if error.isOfSystem { throw error }
                }
            }
            if let failure = walk.failure { throw failure }
            if let otherFormat { throw otherFormat }
            if search.isProved, let best = try search.best(step), best.isSure { return best.id }
        }
        try Salvage.forEachValue(in: file, metas, rules, step: step) { search.note($0.table, $0.key, $1) }
        return try search.decided(folder, step)
    }

    private mutating func note(_ table: TableCode, _ key: [UInt8], _ value: [UInt8]) {
        switch (table, key) {
        case (.meta, StoreHeader.key):
            guard let header = try? StoreHeader(value.rawBytes) else { return }
            SealedIdentity.add(header.storeID, to: &claimed)
            hasReadableValues = true
        case (.meta, SealRecord.key):
            if let seal = try? SealRecord(value.rawBytes), seals.count < SealedIdentity.idsLimit { seals.append(seal) }
        case (.upkeep, HeaderCopy.key) where SealedValue.isSealed(value.rawBytes):
            if let id = SealedBodies.identity(inCopy: value, sealer) {
                SealedIdentity.add(id, to: &proven)
            } else if (try? SealedValue.verify(value.rawBytes, table: table, key: key)) != nil {
                hasForeignCopy = true
            }
        default:
            guard SealedBodies.sealedTable(of: value.rawBytes) != nil else { return }
            if !SealedValue.isSealed(value.rawBytes) {
                hasReadableValues = true
            } else if others.count < SealedIdentity.othersLimit, value.count <= SealedIdentity.otherBytesLimit,
                (try? SealedValue.verify(value.rawBytes, table: table, key: key)) != nil
            {
                others.append(value)
            }
        }
    }

    /// A forged file may name any number of stores.
    private static func add(_ id: SampleID, to ids: inout [SampleID]) {
        if ids.count < idsLimit, !ids.contains(id) { ids.append(id) }
    }

    /// Whether something proves that the sealer has the key.
    private var isProved: Bool {
        !proven.isEmpty || seals.contains { (try? $0.isProved(by: sealer)) == true }
    }

    /// Returns the identity with which most of the values open, how many do, and whether those are over half of all.
    private func best(_ step: () throws -> Void) throws -> (id: SampleID, opened: Int, isSure: Bool)? {
        var best: (id: SampleID, opened: Int, isSure: Bool)?
        for id in proven.reversed() + claimed.reversed() {
            try step()
            let bodies = SealedBodies(sealer, of: id)
            let opened = others.count { (try? bodies.opened($0.rawBytes)) != nil }
            if opened > best?.opened ?? -1 { best = (id, opened, 2 * opened > others.count) }
        }
        return best
    }

    private func decided(_ folder: String, _ step: () throws -> Void) throws -> SampleID {
        if seals.isEmpty, proven.isEmpty, others.isEmpty, !hasForeignCopy, hasReadableValues {
            throw StoreError(.wrongKey, path: folder, "The store is not sealed, and a sealer was given")
        }
        let best = try best(step)
        let opens = best.map { $0.opened > 0 || others.isEmpty } ?? false
        if !isProved, !opens, !seals.isEmpty || hasForeignCopy || best != nil {
            throw StoreError(
                .wrongKey, path: folder, "The store is sealed with another key than the one that was given")
        }
        guard let best, opens else {
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
