import ColumnFormat
import HealthModel
import LMDB

/// One import of a file whose rows have no ids, over all its transactions.
package final class HistoryRun: Sendable {
    /// The first commit of the import, or of the part that goes on with it.
    private let firstCommit: UInt64
    /// The commits of the part that was stored before, with those of others between them.
    private let earlier: ClosedRange<UInt64>?
    private let state = Monitor(HistoryKnowledge())

    package init(firstCommit: UInt64, earlier: ClosedRange<UInt64>? = nil) {
        (self.firstCommit, self.earlier) = (firstCommit, earlier)
    }

    /// Whether rows of a commit came from the file itself.
    func isOwn(_ commit: UInt64) -> Bool { commit >= firstCommit || earlier?.contains(commit) == true }

    /// What earlier transactions of the import learned; a transaction that fails leaves it as it was.
    var knowledge: HistoryKnowledge {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }
}

/// What an import learns of the store.
struct HistoryKnowledge: Sendable {
    /// The samples that were deleted before the import began, by type; `nil` until they were read.
    var deleted: DeletedSamples?
    var names = SourceNames()
    /// The samples of which the file brought a later version under another content.
    var replaced: Set<SampleID> = []
    /// The samples from before the import that it made members of groups.
    var joined: Set<SampleID> = []
    /// The samples that rows with a name are: a later row of that name is another sample.
    var named: Set<SampleID> = []
    /// The samples without a name that rows with a name are.
    var lent: Set<SampleID> = []
}

/// Where deleted samples were. A file that is imported later may hold them, under no id.
struct DeletedSamples: Sendable {
    private var places: [UInt32: [Place]] = [:]

    struct Place: Sendable {
        var id: SampleID
        var start: Int64
        var end: Int64
        /// The number of the name of its source, by ``SourceNames``.
        var name: Int
    }

    /// Reads all tombstones.
    init(_ names: inout SourceNames, in snapshot: Snapshot) throws {
        var found: [(type: UInt32, place: Place)] = []
        try TombstoneTable.forEachByID(from: .zero, in: snapshot) { tombstone in
            guard let place = tombstone.place else { return true }
            let name = try names.number(ofRevision: place.revision, in: snapshot)
            found.append((tombstone.type, Place(id: tombstone.id, start: place.start, end: place.end, name: name)))
            return true
        }
        for (type, place) in found { places[type, default: []].append(place) }
        for type in places.keys { places[type]!.sort { $0.start < $1.start } }
    }

    /// Returns the deleted samples of a type that started less than a second from a time.
    func near(_ type: UInt32, _ start: Int64) -> ArraySlice<Place> {
        guard let places = places[type] else { return [] }
        func first(notBefore time: Int64) -> Int {
            (0..<places.count).firstIndex(notPreceding: { places[$0].start < time })
        }
        let (from, to) = NearRows.within(aSecondOf: start)
        return places[first(notBefore: from)..<first(notBefore: to)]
    }
}

/// Numbers for the names of sources. Files give names without bundles, and names are all that can be compared.
struct SourceNames: Sendable {
    private var numbers: [String: Int] = [:]
    private var ofRevision: [UInt32: Int] = [:]

    mutating func number(of name: String) -> Int {
        if let number = numbers[name] { return number }
        numbers[name] = numbers.count
        return numbers.count - 1
    }

    mutating func number(ofRevision revision: UInt32, in snapshot: Snapshot) throws -> Int {
        if let number = ofRevision[revision] { return number }
        let number = number(of: try NameTable.revision(revision, in: snapshot).source.name)
        ofRevision[revision] = number
        return number
    }
}
