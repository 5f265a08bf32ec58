import ColumnFormat
import HealthModel

/// Samples that are here twice after two stores have met: one store took an export, which names no ids, and the other
/// one read the peer that exported it (SEMANTICS C37). The samples with the ids of the peer stay.
///
/// Each store decides for itself, so whatever order samples come in must lead to the same end. Therefore this compares
/// more strictly than an import does: both name one type and one source, begin and end in the same second, and differ
/// by less than what six digits print. Then each sample of a peer is one record of an export in each unit. Of equal
/// records the first one leaves if one sample of the peer fits, the second one if two fit.
struct ExportJoining {
    /// What is equal in an export's record and the sample that it is.
    private struct Place: Hashable {
        let type: SampleType
        let source: String
        /// Seconds; an end that is not known yet is none.
        let start: Int64
        let end: Int64?

        init(_ sample: Sample) {
            (type, source) = (sample.type, sample.source.name)
            start = Place.second(sample.start)
            end = sample.end == .distantFuture ? nil : Place.second(sample.end)
        }

        static func second(_ time: Instant) -> Int64 {
            let (quotient, rest) = time.nanoseconds.quotientAndRemainder(dividingBy: NearRows.second)
            return rest < 0 ? quotient - 1 : quotient
        }
    }

    /// A sample as it was imported, and whether an edit or a note lies over it or it was deleted here.
    private struct Member {
        let sample: Sample
        let isEdited: Bool
        let isDeleted: Bool
    }

    /// What is at one place.
    private struct Members {
        /// Samples of exports.
        var records: [Member] = []
        /// Samples under the ids of a peer.
        var peers: [Member] = []
    }

    /// How many equal records are looked for under the ids that follow from the content of a peer's sample.
    private static let twins = 4

    private var places: [Place: Members] = [:]
    private var seen: Set<SampleID> = []
    /// What another store has just brought.
    private var brought: Set<SampleID> = []

    /// Returns what has to leave, among the samples that another store brought and those at their places. The samples
    /// are stored already.
    static func find(brought: [Sample], in txn: inout WriteTransaction) throws -> HistoryAdoption {
        var joining = ExportJoining()
        try joining.takeBrought(brought, in: txn.snapshot)
        guard !joining.places.isEmpty else { return HistoryAdoption() }
        try joining.takeStored(in: &txn)
        try joining.takeDeleted(in: txn.snapshot)
        return joining.decided()
    }

    /// Takes the samples of exports whose source has a name that a source of a peer has, and the reverse.
    private mutating func takeBrought(_ samples: [Sample], in snapshot: Snapshot) throws {
        var names: [String: (isExported: Bool, isOfPeer: Bool)] = [:]
        for sample in samples {
            let (name, isRecord) = (sample.source.name, DerivedID.isDerived(sample.id))
            guard isRecord == sample.source.bundle.isEmpty else { continue }
            if names[name] == nil {
                let bundles = try NameTable.numbers(meantBy: SourceIdentity(name: name), in: snapshot).map {
                    try NameTable.source($0, in: snapshot).bundle
                }
                names[name] = (bundles.contains(""), bundles.contains { !$0.isEmpty })
            }
            guard let known = names[name], isRecord ? known.isOfPeer : known.isExported,
                let found = try SampleLookup.find(sample.id, in: snapshot), !found.isHidden
            else { continue }
            let held = try NameTable.sample(found.row, found.lane.type, in: snapshot)
            places[Place(held.asImported)] = places[Place(held.asImported)] ?? Members()
            if take(held, isDeleted: false) { brought.insert(held.id) }
        }
    }

    /// Adds a sample to those of its place, if something was brought there.
    @discardableResult
    private mutating func take(_ sample: Sample, isDeleted: Bool) -> Bool {
        let isRecord = DerivedID.isDerived(sample.id)
        guard isRecord == sample.source.bundle.isEmpty, !isRecord || sample.origin == .imported else { return false }
        let imported = sample.asImported
        guard places[Place(imported)] != nil, seen.insert(sample.id).inserted else { return false }
        let member = Member(sample: imported, isEdited: sample.isEditedImport, isDeleted: isDeleted)
        if isRecord {
            places[Place(imported)]?.records.append(member)
        } else {
            places[Place(imported)]?.peers.append(member)
        }
        return true
    }

    /// Takes what is stored at the places.
    private mutating func takeStored(in txn: inout WriteTransaction) throws {
        var batch = SampleBatch()
        for member in places.values.flatMap({ $0.records + $0.peers }) { batch.append(member.sample) }
        guard !batch.isEmpty else { return }
        let plan = try Importing.plan(batch, in: &txn)
        let snapshot = txn.snapshot
        var near: [Sample] = []
        for (lane, rows) in plan.lanes(batch) {
            try NearRows.forEach(lane, rows, of: batch, in: snapshot) { row, stored, lane in
                let name = batch.kinds[Int(batch.kindOfRow[row])].source.name
                guard !seen.contains(stored.id),
                    try NameTable.revision(stored.revision, in: snapshot).source.name == name
                else { return }
                near.append(try NameTable.sample(stored, lane.type, in: snapshot))
            }
        }
        // A record whose times were edited is not where it was. Its id is stored, and so in the index.
        for member in places.values.flatMap(\.peers) {
            for id in ExportJoining.recordIDs(of: member.sample) where !seen.contains(id) {
                let hints = try IdentityIndex.hints(IdentityHash.of(id, snapshot.header.hashKey), in: snapshot)
                guard let found = try SampleLookup.find(id, among: hints, in: snapshot), !found.isHidden else {
                    continue
                }
                near.append(try NameTable.sample(found.row, found.lane.type, in: snapshot))
            }
        }
        for sample in near { take(sample, isDeleted: false) }
    }

    /// Takes what this store deleted at the places: as far as its content is kept, and records whose ids follow from
    /// the content of what was brought.
    private mutating func takeDeleted(in snapshot: Snapshot) throws {
        /// Where this store deleted a sample; `nil` if it did not, or another sample has taken its place.
        func placeOfDeleted(_ id: SampleID) throws -> DeletedPlace? {
            guard let tombstone = try TombstoneTable.tombstone(id, in: snapshot) else { return nil }
            return tombstone.clockReplica == snapshot.header.replica ? tombstone.place : nil
        }
        for id in try ContentTable.ids(in: snapshot) where try placeOfDeleted(id) != nil {
            // Damage of what is kept for an undo is no reason to take nothing from the other store.
            do {
                if let sample = try ContentTable.content(id, in: snapshot) { take(sample, isDeleted: true) }
            } catch  where StoreError.isDamage(error) {}
        }
        for peer in places.values.flatMap(\.peers) where !peer.isDeleted && brought.contains(peer.sample.id) {
            for (twin, id) in ExportJoining.recordIDs(of: peer.sample).enumerated() where !seen.contains(id) {
                guard try placeOfDeleted(id) != nil else { continue }
                var record = peer.sample
                (record.id, record.source, record.multiplicity) = (id, Source(name: record.source.name), twin)
                (record.origin, record.syncIdentifier) = (.imported, nil)
                take(record, isDeleted: true)
            }
        }
    }

    /// Returns the ids that records of an export have if they print the value of a peer's sample in its unit.
    private static func recordIDs(of sample: Sample) -> [SampleID] {
        let prefix = DerivedID.Prefix(type: sample.type, source: SourceIdentity(name: sample.source.name))
        func cut(_ time: Instant) -> Int64 {
            time == .distantFuture ? time.nanoseconds : Place.second(time) * NearRows.second
        }
        let value = DerivedID.canonical(sample.quantity.value, sample.quantity.unit, of: sample.type)
        return (0..<twins).map {
            DerivedID.id(prefix, start: cut(sample.start), end: cut(sample.end), value: value, multiplicity: $0)
        }
    }

    private func decided() -> HistoryAdoption {
        var adoption = HistoryAdoption()
        for members in places.values {
            /// The samples of the peer that take the place of records, for each unit of an export, and those that are
            /// deleted for one.
            var taken: [HealthUnit?: Set<SampleID>] = [:]
            let peers = members.peers.sorted { $0.sample.id < $1.sample.id }
            let records = members.records.sorted {
                ($0.sample.multiplicity, $0.sample.id) < ($1.sample.multiplicity, $1.sample.id)
            }
            for record in records where !record.isDeleted {
                let fitting = peers.filter { ExportJoining.isSame(record.sample, $0.sample) }
                let number = record.sample.multiplicity
                // Where a name tells equal records apart, their numbers count nothing.
                guard Set(fitting.map(\.sample.source.identity)).count == 1,
                    fitting.count > (number < 1 << 30 ? number : 0)
                else { continue }
                // Exports in two units name one sample twice; one in one unit does not.
                let unit = record.sample.quantity.unit
                let open = fitting.filter { !$0.isDeleted && !taken[unit, default: []].contains($0.sample.id) }
                if let own = open.first(where: { !record.isEdited || !$0.isEdited }) ?? open.first {
                    taken[unit, default: []].insert(own.sample.id)
                    adoption.adopt(own.sample.id, insteadOf: record.sample.id)
                } else if fitting.contains(where: \.isDeleted), brought.contains(record.sample.id) {
                    // What was here when the peer's sample was deleted stayed for a reason.
                    adoption.delete(record.sample.id, deletedAs: record.sample.id)
                }
            }
            let kept = taken.values.reduce(into: Set()) { $0.formUnion($1) }
            for record in records where record.isDeleted {
                let own = peers.first { peer in
                    !peer.isDeleted && brought.contains(peer.sample.id) && !kept.contains(peer.sample.id)
                        && !taken[nil, default: []].contains(peer.sample.id) && peer.sample.origin == .imported
                        && ExportJoining.isSame(record.sample, peer.sample)
                }
                guard let own else { continue }
                taken[nil, default: []].insert(own.sample.id)
                adoption.delete(own.sample.id, deletedAs: record.sample.id)
            }
        }
        adoption.sort()
        return adoption
    }

    /// Whether a record prints the value of a peer's sample at its place, and has its name if it has one.
    private static func isSame(_ record: Sample, _ peer: Sample) -> Bool {
        if let name = record.metadata.externalName, name != peer.metadata.externalName { return false }
        if let text = record.syncIdentifier, text != peer.syncIdentifier, text != peer.id.description { return false }
        guard let value = try? peer.quantity.value(in: record.quantity.unit) else { return false }
        return abs(value - record.quantity.value) <= abs(value) * 1e-5
    }
}
