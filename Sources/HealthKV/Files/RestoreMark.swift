import ColumnFormat
import HealthModel
import LMDB

/// The location of the data file when the store was last written to. The record is in the file itself, and no longer
/// fits once the file was copied or restored.
///
/// If two copies of one store both continued as the same replica, they would stamp different changes alike, and peers
/// would take one for the other. So a copy takes a new replica and a new epoch, and drops its anchors: it asks again
/// for what peers told the original. A file that is moved within its file system stays what it is. The number of its
/// device may change whenever the system starts, so it does not count. The store's own copies hold a location that fits
/// no file. A file that another program copied and later wrote back over itself fits; ``WrittenPlace`` detects it.
struct RestoreMark: Equatable {
    static let key: [UInt8] = Array("place".utf8)

    let inode: UInt64
    /// Nanoseconds since 1970; 0 if the system does not keep it.
    let birth: Int64

    /// The place of no file, which a copy holds until it is first opened for writing.
    static let ofCopy = RestoreMark(inode: 0, birth: 0)

    private init(inode: UInt64, birth: Int64) {
        self.inode = inode
        self.birth = birth
    }

    /// The place of a file; `nil` if there is none.
    init?(of path: String) {
        guard let identity = FileSystem.identity(of: path) else { return nil }
        inode = identity.inode
        birth = FileSystem.birth(of: path) ?? 0
    }

    private init(_ span: RawSpan) throws(FormatError) {
        var record = try RecordReader(span, table: .meta, key: RestoreMark.key)
        inode = try record.read(UInt64.self)
        birth = try record.read(Int64.self)
    }

    func value(stamp: CommitStamp) -> [UInt8] {
        var record = RecordWriter()
        record.append(inode)
        record.append(birth)
        return record.value(table: .meta, key: RestoreMark.key, stamp: stamp)
    }

    private static func read(_ view: View, _ tables: OpenTables) throws -> RestoreMark? {
        guard let span = try view.get(tables[.meta], key) else { return nil }
        return try RestoreMark(span)
    }

    private func isSame(as other: RestoreMark) -> Bool {
        // A time that one of two systems does not keep proves nothing.
        inode == other.inode && (birth == other.birth || birth == 0 || other.birth == 0)
    }

    /// Compares the file with its record, and turns a copy into another replica.
    ///
    /// - Parameter journal: returns the file of the journal. Another process may make it at any time.
    static func settle(
        _ environment: Environment, _ tables: OpenTables, _ journal: () throws -> JournalFile?, _ folder: String,
        _ options: StoreOptions, _ notices: NoticeBoard
    ) throws {
        guard let place = RestoreMark(of: StoreFiles.dataPath(in: folder)) else { return }
        let written = WrittenPlace.token(of: folder)
        if try isSettled(place, written, environment, tables, journal) { return }
        var transaction = try environment.beginWrite()
        // Another process may have done this meanwhile, or put another file in the place of this one.
        let isRetired = try StoreHeader.isRetired(transaction.view, tables)
        let known = try read(transaction.view, tables)
        if isRetired { return }
        try Journal.moveToTables(in: &transaction, tables, journal())
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
        try transaction.put(tables[.meta], key, place.value(stamp: header.stamp))
        try transaction.put(tables[.meta], StoreHeader.key, header.value)
        try transaction.commit()
        if known != nil {
            let what = isMoved ? "is a copy or was restored" : "was rolled back to an older state"
            notices.post(.restored, folder, "The file \(what): the store goes on as another replica")
        }
    }

    /// Returns the share of the anchors in the header's sum over the records.
    private static func sumOfAnchors(_ view: View, _ tables: OpenTables) throws -> UInt64 {
        var sum: UInt64 = 0
        var cursor = try view.cursor(tables[.anchors])
        while try cursor.next() { sum &+= RecordSum.term(.anchors, cursor.key.copied(), head: cursor.stored) }
        return sum
    }

    /// Returns `true` if the file is where it was last written, and is not older than its attribute says.
    private static func isSettled(
        _ place: RestoreMark, _ written: ChangeToken?, _ environment: Environment, _ tables: OpenTables,
        _ journal: () throws -> JournalFile?
    ) throws -> Bool {
        var transaction = try environment.beginRead()
        guard let known = try read(transaction.view, tables), known.isSame(as: place) else { return false }
        // The successor of a retired file is checked when it is opened.
        if try StoreHeader.isRetired(transaction.view, tables) { return true }
        // Another process may be moving the journal. What follows looks again, under the lock.
        guard
            let found = try? Journal.commits(in: transaction.view, tables, journal(), transaction: transaction.id)
        else { return false }
        transaction.layer = found.layer
        let header = try StoreHeader.read(transaction.view, tables)
        return try !WrittenPlace.isRolledBack(written, header, transaction.view, tables)
    }
}
