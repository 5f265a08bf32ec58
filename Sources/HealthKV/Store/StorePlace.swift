import ColumnFormat
import HealthModel
import LMDB

/// Where the data file lay when the store was last written to: a record in the file that does not fit the file any more
/// once it was copied or restored.
///
/// Two copies of one store that both go on would stamp different changes alike, and peers would take one for the other. So
/// a copy takes a new replica and a new epoch, and drops its anchors: what peers told the original is asked for again. A
/// file that is moved within its file system stays what it is; its device's number may change from start to start of the
/// system, so it does not count. What the store's own copies hold fits no file; a file that others copied and later wrote over
/// itself fits, and is known by ``WrittenPlace``.
struct StorePlace: Equatable {
    static let key: [UInt8] = Array("place".utf8)

    let inode: UInt64
    /// Nanoseconds since 1970; 0 where the system does not keep it.
    let birth: Int64

    /// What a copy holds until it is first opened for writing: the place of no file.
    static let ofCopy = StorePlace(inode: 0, birth: 0)

    private init(inode: UInt64, birth: Int64) {
        self.inode = inode
        self.birth = birth
    }

    /// The place of a file; `nil` when there is none.
    init?(of path: String) {
        guard let identity = FileSystem.identity(of: path) else { return nil }
        inode = identity.inode
        birth = FileSystem.birth(of: path) ?? 0
    }

    private init(_ span: RawSpan) throws(FormatError) {
        var record = try RecordReader(span, table: .meta, key: StorePlace.key)
        inode = try record.read(UInt64.self)
        birth = try record.read(Int64.self)
    }

    func value(commit: UInt64) -> [UInt8] {
        var record = RecordWriter()
        record.append(inode)
        record.append(birth)
        return record.value(table: .meta, key: StorePlace.key, commit: commit)
    }

    private static func read(_ view: View, _ tables: Tables) throws -> StorePlace? {
        guard let span = try view.get(tables[.meta], key) else { return nil }
        return try StorePlace(span)
    }

    private func isSame(as other: StorePlace) -> Bool {
        // A time that one of two systems does not keep says nothing.
        inode == other.inode && (birth == other.birth || birth == 0 || other.birth == 0)
    }

    /// Compares the file with its record, and makes another replica of a copy.
    static func settle(
        _ environment: Environment, _ tables: Tables, _ folder: String, _ options: SampleStore.Options,
        _ notices: NoticeBoard
    ) throws {
        guard let place = StorePlace(of: folder + "/data.mdb") else { return }
        let written = WrittenPlace.token(of: folder)
        if try isSettled(place, written, environment, tables) { return }
        var transaction = try environment.beginWrite()
        // Another process may have done it meanwhile, or put another file in the place of this one.
        let isRetired = try StoreHeader.isRetired(transaction.view, tables)
        let known = try read(transaction.view, tables)
        if isRetired { return }
        var header = try StoreHeader.read(transaction.view, tables)
        let isMoved = known.map { !$0.isSame(as: place) } ?? true
        let isRolledBack = try WrittenPlace.isRolledBack(written, header, transaction.view, tables)
        guard isMoved || isRolledBack else { return }
        header.commit += 1
        header.transaction = UInt64(transaction.id)
        if known != nil {
            header.beginEpoch(at: options.clock(), drawing: options.limits.draw)
            header.recordSum = try header.recordSum.map { try $0 &- sumOfAnchors(transaction.view, tables) }
            try transaction.clear(tables[.anchors])
        }
        try transaction.put(tables[.meta], key, place.value(commit: header.commit))
        try transaction.put(tables[.meta], StoreHeader.key, header.value)
        try transaction.commit()
        if known != nil {
            let what = isMoved ? "is a copy or was restored" : "was rolled back to an older state"
            notices.post(.restored, folder, "The file \(what): the store goes on as another replica")
        }
    }

    /// What the anchors add to the header's sum over the records.
    private static func sumOfAnchors(_ view: View, _ tables: Tables) throws -> UInt64 {
        var sum: UInt64 = 0
        var cursor = try view.cursor(tables[.anchors])
        while try cursor.next() { sum &+= RecordSum.term(.anchors, cursor.key.copied(), head: cursor.value) }
        return sum
    }

    /// Whether the file is where it was last written, and has come as far.
    private static func isSettled(
        _ place: StorePlace, _ written: ChangeToken?, _ environment: Environment, _ tables: Tables
    ) throws -> Bool {
        let transaction = try environment.beginRead()
        guard let known = try read(transaction.view, tables), known.isSame(as: place) else { return false }
        // The successor of a retired file is looked at when it is opened.
        if try StoreHeader.isRetired(transaction.view, tables) { return true }
        let header = try StoreHeader.read(transaction.view, tables)
        return try !WrittenPlace.isRolledBack(written, header, transaction.view, tables)
    }
}
