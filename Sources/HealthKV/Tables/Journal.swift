import ColumnFormat
import LMDB

/// The journal: the last commits, whose records are not in their tables yet.
///
/// A commit that changes little writes all that it changes into one frame of the journal's file, with one write and
/// one flush, instead of into a page of each table. The tables then hold the store as of an earlier commit, and the
/// journal the commits since. ``RecordLayer`` lays what they wrote over the tables, so that every read sees both. The
/// next transaction that writes to the tables moves the records there first.
///
/// A frame names the checksum of the frame before it, and the first one that of the header in the tables. Every
/// transaction that writes to the tables rewrites that header, so the frames before it no longer follow, and the
/// journal is empty without being touched: its file is written over from the beginning.
enum Journal {
    /// The size of the fields before the changes of a frame.
    static let head = 40
    /// More commits than this are never in the journal: the number bounds what a damaged frame can ask for.
    private static let commitLimit: UInt64 = 1 << 20

    /// Written over the beginning of a journal that was moved into the tables. Its frames do not follow the tables as
    /// they are now, but would follow an older state that somebody copies back.
    static let nothing = [UInt8](repeating: 0, count: head)

    /// Returns the frame of a commit, whose changes a layer has logged.
    static func frame(of commit: UInt64, _ layer: RecordLayer, after before: JournaledCommits, _ tables: OpenTables)
        -> [UInt8]
    {
        var writer = ByteWriter(reserving: layer.loggedBytes + 16 * layer.logged + 2 * head)
        writer.append(0 as UInt64)
        writer.append(before.chain)
        writer.append(0 as UInt64)
        writer.append(commit)
        writer.append(before.base)
        layer.forEachLogged { table, key, value in
            writer.append(tables.code(of: table).rawValue)
            writer.append(UInt16(key.byteCount))
            if let value {
                writer.append(UInt32(value.byteCount))
                writer.append(raw: key)
                writer.append(raw: value)
            } else {
                writer.append(UInt32.max)
                writer.append(raw: key)
            }
        }
        writer.overwrite(16, UInt64(writer.count))
        writer.overwrite(0, Checksum.hash(writer.bytes, 8..<writer.count))
        return writer.bytes
    }

    /// Returns the journal after a frame was written.
    static func journal(after before: JournaledCommits, _ frame: [UInt8], _ layer: RecordLayer) -> JournaledCommits {
        var journal = before
        layer.startLog()
        journal.last += 1
        journal.layer = layer
        journal.chain = frame.rawBytes.word(0)
        journal.offset += padded(frame.count)
        return journal
    }

    /// The key of the record in `meta` that names the file of the journal.
    static let key: [UInt8] = Array("journal".utf8)

    /// Returns `true` if the tables name a file as that of their journal. Only then may it hold commits over them: who
    /// had found no file before looks for it again when the tables have changed, and not earlier.
    static func isNamed(_ file: JournalFile, in view: View, _ tables: OpenTables) throws -> Bool {
        guard let span = try view.getBeneath(tables[.meta], key) else { return false }
        var record = try RecordReader(span, table: .meta, key: key)
        return try record.read(UInt64.self) == file.inode
    }

    /// Names a file as that of the journal, from this commit to the tables on.
    static func name(_ file: JournalFile, in txn: inout WriteTransaction) throws {
        // The process that made the file may have been killed before its name was durable.
        try file.flushName()
        try txn.moveToTables()
        var record = RecordWriter()
        record.append(file.inode)
        try txn.put(.meta, key, record.value(table: .meta, key: key, stamp: txn.stamp))
    }

    /// Returns `true` if a frame follows the commits that are known.
    static func goesOn(_ known: JournaledCommits, in file: JournalFile) -> Bool {
        // A file of zeros has no frames.
        known.chain != 0 && file.word(at: known.offset + 8) == known.chain
    }

    /// Returns the commits in the journal.
    ///
    /// - Parameters:
    ///   - view: a view of the tables, without anything that lies over them.
    ///   - transaction: the number of its snapshot.
    ///   - known: the commits that are already known. If they are those of another snapshot, all of them are read.
    ///   - searches: whether to look for commits behind the last one also where no frame follows it: what names the
    ///     frame before may be damaged. That takes a look at the whole file.
    static func commits(
        in view: View, _ tables: OpenTables, _ file: JournalFile?, transaction: Int, known: JournaledCommits? = nil,
        searches: Bool = true
    ) throws -> JournaledCommits {
        var found: JournaledCommits
        if let known, known.transaction == transaction {
            found = known
        } else {
            found = JournaledCommits(transaction: transaction)
            found.base = try base(of: view, tables)
            found.chain = found.base
            let commit = try StoreHeader.read(view, tables).commit
            (found.folded, found.last) = (commit, commit)
        }
        guard let file, searches || goesOn(found, in: file) else { return found }
        let layer = found.layer?.copy() ?? RecordLayer()
        while true {
            try layFrames(after: &found, over: layer, file, view, tables)
            guard searches || goesOn(found, in: file), hasFrame(behind: found, in: file) else { return found }
            // Another process may have been writing the frame, and has since written the one behind it.
            if !goesOn(found, in: file) || frame(after: found, in: file) == nil {
                throw FormatError(.checksum, "journal")
            }
        }
    }

    /// Lays the frames that follow over a layer.
    ///
    /// - Parameter isSound: whether a record may be laid. The first frame with one that may not ends it.
    private static func layFrames(
        after found: inout JournaledCommits, over layer: RecordLayer, _ file: JournalFile, _ view: View,
        _ tables: OpenTables, isSound: ((TableCode, [UInt8], [UInt8]) -> Bool)? = nil
    ) throws {
        try layer.together { () throws in
            while goesOn(found, in: file), let frame = frame(after: found, in: file) {
                if let isSound, try !isWhole(frame, isSound) { return }
                try lay(frame, over: layer, view, tables)
                found = journal(after: found, frame, layer)
            }
        }
    }

    /// Returns the commits in the journal of a damaged store, up to the first damaged one, and how many are lost.
    ///
    /// - Parameter followsTables: whether the header in the tables is the one that the journal follows. Otherwise that
    ///   header is lost, and the first frame tells which one it was.
    /// - Parameter isSound: whether a value may become that of a key. A commit with one that may not is damaged.
    static func readableCommits(
        in view: View, _ tables: OpenTables, _ file: JournalFile, transaction: Int, followsTables: Bool,
        isSound: (TableCode, [UInt8], [UInt8]) -> Bool
    ) throws -> (commits: JournaledCommits, lost: Int) {
        var found = JournaledCommits(transaction: transaction)
        let header = try StoreHeader.read(view, tables).commit
        found.base = try followsTables ? base(of: view, tables) : file.word(at: 8)
        found.chain = found.base
        (found.folded, found.last) = (header, header)
        if !followsTables {
            let first = file.word(at: 24)
            guard first > header, first < 1 << 62 else { return (found, 0) }
            (found.folded, found.last) = (first - 1, first - 1)
        }
        try withoutActuallyEscaping(isSound) { isSound in
            try layFrames(after: &found, over: RecordLayer(), file, view, tables, isSound: isSound)
        }
        if isOfOthers(found, file) { return (found, 0) }
        let last = lastCommit(in: file, from: found.offset, above: found.last, over: found.base)
        return (found, Int((last ?? found.last) - found.last))
    }

    /// Returns the frame that follows; `nil` if it is incomplete: then its commit never happened.
    private static func frame(after before: JournaledCommits, in file: JournalFile) -> [UInt8]? {
        guard let frame = frame(at: before.offset, in: file), frame.rawBytes.word(8) == before.chain,
            frame.rawBytes.word(24) == before.last + 1
        else { return nil }
        return frame
    }

    /// Returns the frame at an offset; `nil` if there is none that is whole.
    private static func frame(at offset: Int, in file: JournalFile) -> [UInt8]? {
        let count = file.word(at: offset + 16)
        guard count >= UInt64(head), count <= UInt64(file.byteCount),
            let frame = file.bytes(at: offset, count: Int(count)), frame.rawBytes.word(16) == count,
            frame.rawBytes.word(0) == Checksum.hash(frame, 8..<frame.count)
        else { return nil }
        return frame
    }

    /// Returns `true` if the file holds commits over the tables that they do not know: those of another history, after
    /// an older state was copied back. The next commit must change the tables, so that nothing follows them.
    static func hasLeftovers(behind known: JournaledCommits, in file: JournalFile) -> Bool {
        lastCommit(in: file, from: known.offset, above: known.last, over: known.base) != nil
    }

    /// Returns `true` if the file holds commits over other tables than those that are read, or none any more: an older
    /// state of the tables may have been copied back, and what is left of its frames counts no more.
    private static func isOfOthers(_ known: JournaledCommits, _ file: JournalFile) -> Bool {
        guard known.offset == 0 else { return false }
        if let first = frame(at: 0, in: file) { return first.rawBytes.word(32) != known.base }
        return file.bytes(at: 0, count: head) == nothing && file.word(at: head) != 0
    }

    /// Returns `true` if a later commit than the next one is in the file. Then the next one did happen, and is damaged.
    private static func hasFrame(behind known: JournaledCommits, in file: JournalFile) -> Bool {
        !isOfOthers(known, file)
            && lastCommit(in: file, from: known.offset + 8, above: known.last + 1, over: known.base) != nil
    }

    /// Returns the greatest commit of a whole frame over a header, if any is above `last`.
    ///
    /// A forged file may look like a long frame at each offset, so the search stops when those that were no frames are
    /// together as long as the file. No writer leaves such a file, so that counts as a frame.
    private static func lastCommit(
        in file: JournalFile, from start: Int, above last: UInt64, over base: UInt64
    ) -> UInt64? {
        var greatest = last
        var (from, verified) = (start, 0)
        while let place = file.offset(of: base, from: from + 32) {
            let offset = place - 32
            from = offset + 8
            let commit = file.word(at: offset + 24)
            guard commit > last, commit - last < commitLimit else { continue }
            if let frame = frame(at: offset, in: file), frame.rawBytes.word(24) == commit {
                greatest = max(greatest, commit)
                from = offset + padded(frame.count)
                continue
            }
            let count = file.word(at: offset + 16)
            if count <= UInt64(file.byteCount) { verified += Int(count) }
            if verified > file.byteCount { return max(greatest, last + 1) }
        }
        return greatest > last ? greatest : nil
    }

    /// Returns the checksum of the header in the tables, after which the first frame comes.
    private static func base(of view: View, _ tables: OpenTables) throws -> UInt64 {
        guard let header = try view.getBeneath(tables[.meta], StoreHeader.key) else {
            throw FormatError(.truncated, "header of the store")
        }
        return max(1, Checksum.hash(header))
    }

    private static func padded(_ count: Int) -> Int { (count + 7) & ~7 }

    /// Returns `true` if a frame of this many bytes fits behind the commits that are known.
    static func hasRoom(_ bytes: Int, behind known: JournaledCommits, in file: JournalFile) -> Bool {
        bytes <= file.byteCount - known.offset
    }

    /// Lays the changes of a frame over what the commits before it wrote.
    private static func lay(_ frame: [UInt8], over layer: RecordLayer, _ view: View, _ tables: OpenTables) throws {
        try forEachRecord(in: frame) { code, key, value in
            if let value {
                layer.put(tables[code], key: key, value: value)
            } else {
                let isInTable = try view.getBeneath(tables[code], key) != nil
                layer.remove(tables[code], key: key, isInTable: isInTable)
            }
        }
    }

    /// Calls `body` with the table, key and value of each record that a frame changes; without a value for one that it
    /// removes.
    private static func forEachRecord(
        in frame: [UInt8], _ body: (TableCode, RawSpan, RawSpan?) throws -> Void
    ) throws {
        var record = RecordReader(fields: frame.rawBytes)
        _ = try record.readSpan(head)
        while !record.isAtEnd {
            guard let code = TableCode(rawValue: try record.read(UInt8.self)) else {
                throw FormatError(.newer, "journal")
            }
            let keyCount = Int(try record.read(UInt16.self))
            let valueCount = try record.read(UInt32.self)
            guard keyCount >= 1, keyCount <= 511 else { throw FormatError(.invalid, "journal") }
            let key = try record.readSpan(keyCount)
            try body(code, key, valueCount == .max ? nil : try record.readSpan(Int(valueCount)))
        }
    }

    private static func isWhole(
        _ frame: [UInt8], _ isSound: (TableCode, [UInt8], [UInt8]) -> Bool
    ) throws -> Bool {
        var isWhole = true
        try forEachRecord(in: frame) { code, key, value in
            if let value, !isSound(code, key.copied(), value.copied()) { isWhole = false }
        }
        return isWhole
    }

    /// Returns the identity of the store that the first frame names; `nil` if none is whole.
    static func storeID(in file: JournalFile) -> SampleID? {
        guard let frame = frame(at: 0, in: file) else { return nil }
        var id: SampleID?
        try? forEachRecord(in: frame) { code, key, value in
            guard code == .meta, key.isEqual(to: StoreHeader.key), let value else { return }
            id = try StoreHeader(value).storeID
        }
        return id
    }

    /// Moves the records of the journal into the tables, in a transaction that belongs to no open store and has changed
    /// nothing yet. The caller rewrites the header.
    static func moveToTables(
        in transaction: inout LMDB.WriteTransaction, _ tables: OpenTables, _ file: JournalFile?
    ) throws {
        let journal = try commits(in: transaction.view, tables, file, transaction: transaction.id - 1)
        guard journal.count > 0 else { return }
        transaction.collect(over: journal.layer)
        try transaction.fold()
    }

    /// Puts what lies over the tables of a store into the tables of a copy, if the copy was made of these tables: a
    /// later copy has it already.
    static func put(
        _ journal: JournaledCommits, of source: OpenTables, into transaction: inout LMDB.WriteTransaction,
        _ tables: OpenTables
    ) throws {
        guard let layer = journal.layer, try base(of: transaction.view, tables) == journal.base else { return }
        try transaction.put(layer, of: source.all, into: tables.all)
    }
}
