import ColumnFormat
import HealthModel

/// Finds the rows of a file that the store holds or held already. A file gives no ids, times in whole seconds and
/// values in whatever unit its owner chose. Two samples are the same if type, name of the source, start and end are
/// equal and the values may have been rounded from one number: they differ by at most half a unit of the last digit of
/// each.
///
/// An app may give a sample a name of its own (`HKExternalUUID`). A row with other values than the stored sample of
/// that name at its start is a later version of it, unless the same file holds both.
///
/// The rows of a lane and the lane itself are both in order of time, so one pass over both finds all candidates.
struct HistoryMatching {
    /// Rows that the store holds.
    private(set) var held: [Bool]
    /// Rows that were deleted here.
    private(set) var deleted: [Bool]
    /// Rows that are held and belong to a group that the stored sample does not have yet.
    private(set) var ungrouped: [(row: Int, found: FoundRow)] = []
    /// The rows that are a later version of a sample under this id.
    private(set) var versions: [Int: SampleID] = [:]
    /// The least version that such a row gets, where the file gives none.
    private(set) var leastVersions: [Int: Int64] = [:]
    /// The rows whose id stands for another sample, for a later version or one that is another row, and the twins that
    /// they become.
    private(set) var renumbered: [Int: (id: SampleID, twin: Int)] = [:]

    private let batch: SampleBatch
    private let plan: ImportPlan
    private let run: HistoryRun
    private(set) var knowledge: HistoryKnowledge
    private var nameOfKind: [Int] = []
    /// The stored samples with the value of a row, as far as there are any.
    private var candidates: [Int: [FoundRow]] = [:]
    /// Those whose value differs by at most half a digit. They count for a row that has none of the others.
    private var near: [Int: [FoundRow]] = [:]
    /// Of those, the samples that rows without a name are.
    private var assigned: [Int: SampleID] = [:]
    /// Rows whose sync identifier the store may know. Most are new, and one pass along the index shows that.
    private var mayBeKnown: [Bool]
    /// The names that apps gave to rows, in rows without a sync identifier.
    private var names: [Int: String] = [:]
    /// The stored samples of the same name at the start of such a row.
    private var namesakes: [Int: [FoundRow]] = [:]
    /// Whether rows have names or sync identifiers.
    private let hasNames: Bool
    /// Rows that are no stored sample of their name, or without a name if they have none. One of the other kind may be
    /// left for them.
    private var unmatched: [Int] = []
    /// The stored samples that rows of the batch are, if rows have names.
    private var taken: Set<SampleID> = []
    /// The groups that stored samples have, by the groups of their rows.
    private var groups: [String: String] = [:]
    /// The stored samples that rows of this batch are, and the bits of the values in which the rows bring them. Empty
    /// unless values are near.
    private var claimed: [SampleID: UInt64] = [:]
    /// The ids that rows of the batch have or get; empty until that is asked.
    private var idsOfBatch: Set<SampleID> = []

    init(_ batch: SampleBatch, _ plan: ImportPlan, _ run: HistoryRun) {
        self.batch = batch
        self.plan = plan
        self.run = run
        knowledge = run.knowledge
        held = [Bool](repeating: false, count: batch.count)
        deleted = held
        mayBeKnown = held
        for kind in batch.kinds { nameOfKind.append(knowledge.names.number(of: kind.source.name)) }
        for (row, rare) in batch.extras where rare.syncIdentifier == nil && DerivedID.isDerived(batch.ids[row]) {
            if let name = rare.metadata.externalName { names[row] = name }
        }
        hasNames = !names.isEmpty || batch.extras.contains { $0.1.syncIdentifier != nil }
    }

    /// Returns the group of a row: the one of the stored samples that are its other members, or that of the batch.
    func group(of row: Int) -> String? {
        guard let group = batch.extras[row]?.group else { return nil }
        return groups[group] ?? group
    }

    /// Finds out what each row is. A row with a name is the stored sample of that name, and one without is a stored
    /// sample without, in the order in which the file holds them. A file may lack the names that another one gives, so
    /// what is left of both kinds belongs together, too.
    mutating func match(_ environment: WriteEnvironment, in snapshot: Snapshot) throws {
        try markIdentified(environment, in: snapshot)
        if knowledge.deleted == nil { knowledge.deleted = try DeletedSamples(&knowledge.names, in: snapshot) }
        for (lane, rows) in plan.lanes(batch) {
            try NearRows.forEach(lane, rows, of: batch, in: snapshot) { row, stored, lane in
                try consider(row, stored, lane, in: snapshot)
            }
        }
        // Rows that have what is stored come first, so that a row with a near value does not take their sample.
        let nearRows = near.keys.filter { candidates[$0] == nil }
        if nearRows.isEmpty {
            for row in 0..<batch.count { try decide(row, in: snapshot) }
        } else {
            let late = Set(nearRows)
            for row in 0..<batch.count where !late.contains(row) { try decide(row, in: snapshot) }
            try assign(nearRows.sorted(), in: snapshot)
            for row in nearRows.sorted() { try decide(row, in: snapshot) }
        }
        for row in unmatched where !isNamed(row) { try decideUnmatched(row, in: snapshot) }
        for row in unmatched where isNamed(row) { try decideUnmatched(named: row) }
        // Once it is known which stored samples stand in the file as they are.
        for row in names.keys.sorted() where !held[row] { try decideNamed(row, in: snapshot) }
    }

    private mutating func markIdentified(_ environment: WriteEnvironment, in snapshot: Snapshot) throws {
        let key = snapshot.header.hashKey
        var hashes: [HashedRow] = []
        for (row, rare) in batch.extras {
            guard let text = rare.syncIdentifier else { continue }
            let id = SampleID(canonical: text)
            // A derived id is not in the index.
            if let id, DerivedID.isDerived(id) { mayBeKnown[row] = true }
            let hash = id.map { IdentityHash.of($0, key) } ?? IdentityHash.of(syncIdentifier: text, key)
            hashes.append(HashedRow(hash: IdentityEntry.hash(hash), row: UInt32(row)))
        }
        HashedRow.sort(&hashes)
        try IdentityIndex.markIndexed(hashes, &mayBeKnown, environment, in: snapshot)
    }

    /// Notes a stored sample as a candidate if its times and the name of its source fit.
    private mutating func consider(_ row: Int, _ stored: StoredRow, _ lane: Lane, in snapshot: Snapshot) throws {
        let kind = Int(batch.kindOfRow[row])
        guard try knowledge.names.number(ofRevision: stored.revision, in: snapshot) == nameOfKind[kind] else { return }
        if let name = name(of: row), try HistoryMatching.name(of: stored) == name {
            namesakes[row, default: []].append(FoundRow(lane: lane, row: stored, isHidden: false))
        }
        guard NearRows.isNear(stored.end, batch.ends[row]) else { return }
        let found = FoundRow(lane: lane, row: stored, isHidden: false)
        switch try likeness(row, stored, lane, in: snapshot) {
        case .equal: candidates[row, default: []].append(found)
        case .near: near[row, default: []].append(found)
        case .different: break
        }
    }

    /// How the value of a row and that of a stored sample compare.
    private enum Likeness {
        case equal
        /// They may have been rounded from one number.
        case near
        case different

        init(_ isEqual: Bool) { self = isEqual ? .equal : .different }
    }

    private func likeness(_ row: Int, _ stored: StoredRow, _ lane: Lane, in snapshot: Snapshot) throws -> Likeness {
        let kind = plan.kinds[Int(batch.kindOfRow[row])]
        let brought = batch.values[row]
        if run.isOwn(stored.commit), DerivedID.isDerived(stored.id), !knowledge.joined.contains(stored.id) {
            // It comes from the same file, which has one unit for each type.
            return Likeness(
                stored.start == batch.starts[row] && stored.end == batch.ends[row] && stored.unit == kind.unit
                    && stored.value.bitPattern == brought.bitPattern)
        }
        // What was edited here is compared with what was imported.
        var (value, unit) = (stored.value, try NameTable.unit(stored.unit, in: snapshot))
        if stored.rare?.content.original != nil,
            let original = try NameTable.sample(stored, lane.type, in: snapshot).original
        {
            (value, unit) = (original.quantity.value, original.quantity.unit)
        }
        if unit == kind.sampleUnit, value == brought { return .equal }
        let isPrinted = DerivedID.isDerived(stored.id)
        if unit == kind.sampleUnit, isPrinted { return .different }
        guard
            PrintedValue(brought, kind.sampleUnit).isSame(
                as: PrintedValue(value, unit), bothPrinted: isPrinted, of: kind.sampleType)
        else { return .different }
        // What is one number in two units differs in the last bits only.
        guard let converted = try? Quantity(value, unit).value(in: kind.sampleUnit) else { return .near }
        return abs(converted - brought) <= abs(brought) * 1e-12 ? .equal : .near
    }

    /// Decides what a row is, once all its candidates are known.
    private mutating func decide(_ row: Int, in snapshot: Snapshot) throws {
        let rare = batch.extras.isEmpty ? nil : batch.extras[row]
        if mayBeKnown[row], let text = rare?.syncIdentifier,
            try decide(row, text, version: max(1, rare?.version ?? 1), in: snapshot)
        {
            return
        }
        guard DerivedID.isDerived(batch.ids[row]) else { return }
        let known = unclaimed(row)
        if known.isEmpty, !isNamed(row) { return decideDeleted(row, known: 0) }
        if let name = name(of: row) {
            // Equal records of one name are one record.
            if let own = try known.first(where: { try HistoryMatching.name(of: $0.row) == name }) {
                return hold(row, own)
            }
        } else if !isNamed(row), candidates[row] == nil {
            if let own = known.first(where: { $0.row.id == assigned[row] }) { return hold(row, own) }
        } else if !isNamed(row) {
            let own = try unnamed(known)
            let earlier = rare?.multiplicity ?? 0
            if own.count > earlier { return hold(row, own[earlier]) }
        }
        unmatched.append(row)
    }

    /// Decides which of the near samples the rows without a name are that have no others.
    private mutating func assign(_ rows: [Int], in snapshot: Snapshot) throws {
        /// What equal rows have in common.
        struct Content: Hashable { let type: UInt32, name: Int, start: Int64, end: Int64, bits: UInt64 }
        func content(_ row: Int) -> Content {
            let kind = Int(batch.kindOfRow[row])
            return Content(
                type: plan.kinds[kind].type, name: nameOfKind[kind], start: batch.starts[row], end: batch.ends[row],
                bits: batch.values[row].bitPattern)
        }
        func multiplicity(_ row: Int) -> Int { batch.extras.isEmpty ? 0 : batch.extras[row]?.multiplicity ?? 0 }
        var pairs: [NearAssignment.Pair] = []
        // How many of equal rows are here. Earlier ones that are not stood in earlier batches.
        var missing: [Content: Int] = [:]
        var (here, greatest): ([Content: Int], [Content: Int]) = ([:], [:])
        for row in rows where !isNamed(row) {
            here[content(row), default: 0] += 1
            greatest[content(row)] = max(greatest[content(row)] ?? 0, multiplicity(row))
        }
        for (content, count) in here { missing[content] = max(0, greatest[content]! + 1 - count) }
        var elsewhere = -1
        for row in rows where !isNamed(row) {
            let unit = plan.kinds[Int(batch.kindOfRow[row])].sampleUnit
            let open = try unnamed(unclaimed(row)).map { found in
                let value = try? Quantity(found.row.value, NameTable.unit(found.row.unit, in: snapshot)).value(in: unit)
                return (found.row.id, value.map { abs($0 - batch.values[row]) } ?? .infinity)
            }
            if let count = missing.removeValue(forKey: content(row)) {
                for _ in 0..<min(open.count, count) {
                    pairs += open.map { .init(row: elsewhere, sample: $0.0, difference: $0.1) }
                    elsewhere -= 1
                }
            }
            pairs += open.map { .init(row: row, sample: $0.0, difference: $0.1) }
        }
        assigned = NearAssignment(pairs).samples
    }

    /// Decides what a row without a name is, if no such stored sample is left.
    private mutating func decideUnmatched(_ row: Int, in snapshot: Snapshot) throws {
        let known = unclaimed(row)
        let rare = batch.extras.isEmpty ? nil : batch.extras[row]
        let own = try unnamed(known)
        let earlier = (rare?.multiplicity ?? 0) - own.count + (rare?.othersBefore ?? 0)
        let named = try known.filter { try HistoryMatching.isNamed($0.row) }
        if named.count > earlier, let other = named.first(where: { !taken.contains($0.row.id) }) {
            taken.insert(other.row.id)
            return hold(row, other)
        }
        decideDeleted(row, known: own.count)
        if !deleted[row], isTaken(row) { renumbered[row] = try freeTwin(row, in: snapshot) }
    }

    /// Decides what a row with a name or a sync identifier is, if no stored sample has that.
    private mutating func decideUnmatched(named row: Int) throws {
        let open = try unnamed(unclaimed(row)).dropFirst(batch.extras[row]?.othersBefore ?? 0)
        if let other = open.first(where: { !taken.contains($0.row.id) }) {
            knowledge.lent.insert(other.row.id)
            hold(row, other)
        } else if name(of: row) == nil {
            decideDeleted(row, known: 0)
        }
    }

    private mutating func hold(_ row: Int, _ found: FoundRow) {
        held[row] = true
        note(row, found)
        if !batch.extras.isEmpty, batch.extras[row]?.group != nil, found.row.rare?.group == nil {
            ungrouped.append((row, found))
            if !run.isOwn(found.row.commit) { knowledge.joined.insert(found.row.id) }
        }
    }

    /// Notes that a row is a stored sample, or a later version of one.
    private mutating func note(_ row: Int, _ found: FoundRow) {
        if !near.isEmpty { claimed[found.row.id] = batch.values[row].bitPattern }
        if hasNames { take(found.row.id, by: row) }
        guard !batch.extras.isEmpty, let group = batch.extras[row]?.group, groups[group] == nil else { return }
        groups[group] = found.row.rare?.group
    }

    private mutating func take(_ id: SampleID, by row: Int) {
        taken.insert(id)
        if isNamed(row) { knowledge.named.insert(id) }
    }

    /// The stored samples that a row may be.
    private func known(_ row: Int) -> [FoundRow] {
        if let equal = candidates[row] { return equal }
        return near.isEmpty ? [] : near[row] ?? []
    }

    /// Those of them that no row with another value is. A stored sample is at most one of several near values; equal
    /// ones are told apart by their numbers.
    private func unclaimed(_ row: Int) -> [FoundRow] {
        let known = known(row)
        if claimed.isEmpty || known.isEmpty { return known }
        return known.filter { found in claimed[found.row.id].map { $0 == batch.values[row].bitPattern } ?? true }
    }

    private func name(of row: Int) -> String? { names.isEmpty ? nil : names[row] }

    /// Whether a name or a sync identifier tells a row from equal ones.
    private func isNamed(_ row: Int) -> Bool {
        hasNames && (names[row] != nil || batch.extras[row]?.syncIdentifier != nil)
    }

    private static func isNamed(_ stored: StoredRow) throws -> Bool {
        try stored.flags.contains(.syncIsID) || stored.rare?.syncIdentifier != nil || name(of: stored) != nil
    }

    /// Returns those without a name that no row with one is.
    private func unnamed(_ known: [FoundRow]) throws -> [FoundRow] {
        try known.filter { try !HistoryMatching.isNamed($0.row) && !knowledge.lent.contains($0.row.id) }
    }

    /// Returns the name that an app gave to a stored sample, which tells it from equal ones.
    static func name(of stored: StoredRow) throws -> String? {
        guard let metadata = stored.rare?.content.metadata,
            metadata.contains([String: MetadataValue].externalNameBytes)
        else { return nil }
        return try MetadataCoding.decode(metadata).externalName
    }

    /// Decides what a row is that an app gave a name, and that is no stored sample as it is.
    private mutating func decideNamed(_ row: Int, in snapshot: Snapshot) throws {
        let open = namesakes[row]?.filter { !taken.contains($0.row.id) && !knowledge.named.contains($0.row.id) } ?? []
        if open.count == 1, let found = open.first?.row {
            if !DerivedID.isDerived(found.id) {
                // The peer that exported the file tells itself what became of the sample.
                held[row] = true
                return
            }
            if !run.isOwn(found.commit) {
                note(row, open[0])
                knowledge.replaced.insert(found.id)
                versions[row] = found.id
                let isLater = batch.modified(at: row).map { $0.time.nanoseconds != found.clockTime } ?? false
                leastVersions[row] = isLater ? found.version : Sample.version(after: found.version)
                return
            }
        }
        decideDeleted(row, known: 0)
        guard !deleted[row], isTaken(row) || knowledge.replaced.contains(batch.ids[row]) else { return }
        renumbered[row] = try freeTwin(row, in: snapshot)
    }

    /// Whether a stored sample has the id of a row.
    private func isTaken(_ row: Int) -> Bool {
        candidates.isEmpty && near.isEmpty ? false : known(row).contains { $0.row.id == batch.ids[row] }
    }

    /// Returns an id for the content of a row that no sample has.
    private mutating func freeTwin(_ row: Int, in snapshot: Snapshot) throws -> (id: SampleID, twin: Int) {
        if idsOfBatch.isEmpty { idsOfBatch = Set(batch.ids) }
        var twin = (batch.extras[row]?.multiplicity ?? 0) + 1
        func id() -> SampleID { ImportPlan.derivedID(batch, plan.kinds, row, multiplicity: twin) }
        while try idsOfBatch.contains(id()) || SampleLookup.find(id(), in: snapshot) != nil { twin += 1 }
        idsOfBatch.insert(id())
        return (id(), twin)
    }

    /// Decides whether a row that is not held was deleted here.
    ///
    /// - Parameter known: how many stored samples rows like it may be.
    private mutating func decideDeleted(_ row: Int, known: Int) {
        let earlier = isNamed(row) || batch.extras.isEmpty ? 0 : batch.extras[row]?.multiplicity ?? 0
        let kind = Int(batch.kindOfRow[row])
        guard let places = knowledge.deleted?.near(plan.kinds[kind].type, batch.starts[row]), !places.isEmpty else {
            return
        }
        let gone = places.filter { place in
            place.name == nameOfKind[kind] && NearRows.isNear(place.end, batch.ends[row])
        }
        if gone.isEmpty { return }
        if idsOfBatch.isEmpty { idsOfBatch = Set(batch.ids) }
        // What stands in the batch under the id that was deleted is another sample than this one, unless it is a twin.
        let twins = (0...earlier).map { ImportPlan.derivedID(batch, plan.kinds, row, multiplicity: $0) }
        let others = gone.count { idsOfBatch.contains($0.id) && !twins.contains($0.id) }
        deleted[row] = known + gone.count - others > earlier
    }

    /// Decides by the sync identifier of a row, if the store knows it. Returns `false` if it does not.
    private mutating func decide(_ row: Int, _ text: String, version: Int64, in snapshot: Snapshot) throws -> Bool {
        let kind = Int(batch.kindOfRow[row])
        // Mostly the stored sample is at the same place.
        let atPlace = known(row).first { candidate in
            let isID = candidate.row.flags.contains(.syncIsID)
            let held = isID ? candidate.row.id.description : candidate.row.rare?.syncIdentifier
            // By bytes, as in the index.
            return held.map { $0.utf8.elementsEqual(text.utf8) } ?? false
        }
        for found in try atPlace.map({ [$0] }) ?? SampleLookup.find(syncIdentifier: text, in: snapshot) {
            guard found.lane.type == plan.kinds[kind].type, !found.isHidden,
                try knowledge.names.number(ofRevision: found.row.revision, in: snapshot) == nameOfKind[kind]
            else { continue }
            if found.row.version >= version {
                hold(row, found)
            } else {
                note(row, found)
                versions[row] = found.row.id
            }
            return true
        }
        return false
    }
}

/// A value as a file prints it: its last digit says how exact it is.
struct PrintedValue {
    let value: Double
    let unit: HealthUnit

    init(_ value: Double, _ unit: HealthUnit) {
        self.value = value
        self.unit = unit
    }

    /// Whether two values may be the same number, printed in two units or with different numbers of digits.
    ///
    /// - Parameter bothPrinted: whether the other value is from a file, too. Otherwise it is exact.
    func isSame(as other: PrintedValue, bothPrinted: Bool, of type: SampleType) -> Bool {
        let common = type.canonicalUnit ?? other.unit
        guard let mine = converted(value, to: common), let its = other.converted(other.value, to: common),
            let edge = converted(value + PrintedValue.halfDigit(of: value), to: common)
        else { return false }
        var tolerance = abs(edge - mine)
        if bothPrinted, let edge = other.converted(other.value + PrintedValue.halfDigit(of: other.value), to: common) {
            // Both may have been rounded from one number, in different directions.
            tolerance += abs(edge - its)
        }
        return abs(mine - its) <= tolerance * 1.000_001 + abs(its) * 1e-12
    }

    private func converted(_ value: Double, to target: HealthUnit) -> Double? {
        try? Quantity(value, unit).value(in: target)
    }

    /// Returns half a unit of the last digit of a number in its shortest form.
    static func halfDigit(of value: Double) -> Double {
        var (decimals, exponent, isBehindPoint, isExponent, isNegative) = (0, 0, false, false, false)
        for byte in "\(value)".utf8 {
            switch byte {
            case 0x2E: isBehindPoint = true
            case 0x65: isExponent = true
            case 0x2D where isExponent: isNegative = true
            case 0x30...0x39 where isExponent: exponent = exponent * 10 + Int(byte - 0x30)
            case 0x30...0x39 where isBehindPoint: decimals += 1
            default: break
            }
        }
        // The shortest form of a whole number ends in a zero that nobody printed.
        if decimals == 1, value == value.rounded() { decimals = 0 }
        var half = 0.5
        let places = (isNegative ? -exponent : exponent) - decimals
        for _ in 0..<min(abs(places), 400) { half = places < 0 ? half / 10 : half * 10 }
        return half
    }
}

extension DailyTotal {
    /// Whether two readings tell the same, both printed, in whatever units.
    package func isPrinted(as other: DailyTotal) -> Bool {
        func isSame(_ mine: Double?, _ its: Double?) -> Bool {
            guard let mine, let its else { return mine == nil && its == nil }
            return PrintedValue(mine, unit).isSame(as: PrintedValue(its, other.unit), bothPrinted: true, of: type)
        }
        if unit == other.unit { return isSameReading(as: other) }
        return day == other.day && zone == other.zone && isComplete == other.isComplete
            && isSame(value, other.value) && isSame(goal, other.goal)
    }
}

extension [String: MetadataValue] {
    /// The name that an app gave to a sample, by which it tells it from others of its source and type.
    package var externalName: String? {
        if case .string(let name) = self[Self.externalNameKey], !name.isEmpty { name } else { nil }
    }

    private static let externalNameKey = "HKExternalUUID"
    /// Stored metadata without these bytes holds no such name.
    fileprivate static let externalNameBytes = Array(externalNameKey.utf8)
}

extension [UInt8] {
    fileprivate func contains(_ part: [UInt8]) -> Bool {
        guard count >= part.count else { return false }
        return (0...count - part.count).contains { start in
            self[start] == part[0] && self[start..<start + part.count].elementsEqual(part)
        }
    }
}
