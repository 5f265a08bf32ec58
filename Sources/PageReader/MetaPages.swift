/// Both meta pages of a file, as far as they are readable, and their errors.
public struct MetaPages: Sendable {
    /// The meta pages by index; `nil` for a page that is missing or not a meta page.
    public private(set) var pages: [Meta?] = [nil, nil]
    public private(set) var findings: [PageFinding] = []
    public private(set) var pageSize: Int?
    /// Why the system could not read a page. In this case the finding for that page says nothing about the file.
    public private(set) var failure: PageFileError?

    /// Reads and checks both meta pages.
    public init(_ file: PageFile) {
        var first = [UInt8](repeating: 0, count: Meta.byteCount)
        do {
            try file.read(at: 0, into: &first)
        } catch {
            note(error)
            add(.fileUnreadable, 0, error == .ended ? "the file is too short for a meta page" : "\(error)")
            return
        }
        pages[0] = Meta(first, index: 0)
        readSecond(file)
        for index in 0..<2 { check(index) }
        checkOrder()
    }

    /// The sound meta page with the newest transaction.
    public var newest: Meta? {
        pages.compactMap { $0 }.filter { $0.version == 1 && $0.complaint == nil }
            .max { $0.transaction < $1.transaction }
    }

    /// Returns the meta page of a transaction.
    public func page(of transaction: UInt64) -> Meta? {
        pages.compactMap { $0 }.first { $0.transaction == transaction }
    }

    /// Reads the second page. Its offset is the page size in the first page; if that is damaged, tries every page size.
    private mutating func readSecond(_ file: PageFile) {
        var sizes = Meta.pageSizes
        if let size = pages[0]?.pageSize, sizes.contains(size) { sizes = [size] }
        for size in sizes {
            var bytes = [UInt8](repeating: 0, count: Meta.byteCount)
            do {
                try file.read(at: UInt64(size), into: &bytes)
            } catch {
                note(error)
                if sizes.count == 1 {
                    add(.fileUnreadable, 1, error == .ended ? "the file is too short for two meta pages" : "\(error)")
                    pageSize = size
                }
                continue
            }
            guard let meta = Meta(bytes, index: 1), sizes.count == 1 || meta.pageSize == size else { continue }
            pages[1] = meta
            pageSize = size
            return
        }
        if sizes.count == 1 { pageSize = sizes[0] }
    }

    private mutating func check(_ index: Int) {
        guard let meta = pages[index] else {
            if !findings.contains(where: { $0.page == UInt64(index) }) {
                add(.metaUnreadable, index, "this is no meta page")
            }
            return
        }
        if meta.version != 1 {
            add(.metaVersion, index, "the format of LMDB has version \(meta.version)")
        } else if let complaint = meta.complaint {
            if let other = pages[1 - index], meta.isTakenBack(before: other) { return }
            add(.metaInvalid, index, complaint)
        } else if meta.pageSize != pageSize {
            add(.metaInvalid, index, "the meta pages tell two page sizes")
        }
    }

    /// Each commit writes the other page, so the transactions of both are consecutive; a new file has zero in both.
    private mutating func checkOrder() {
        guard findings.isEmpty, let first = pages[0], let second = pages[1] else { return }
        let distance = max(first.transaction, second.transaction) - min(first.transaction, second.transaction)
        if distance != 1, first.transaction != 0 || second.transaction != 0 {
            add(.metaOrder, nil, "the meta pages are of transactions that do not follow each other")
        }
    }

    private mutating func note(_ error: PageFileError) { if error.isOfSystem { failure = failure ?? error } }

    private mutating func add(_ kind: PageFinding.Kind, _ index: Int?, _ detail: String) {
        findings.append(PageFinding(kind: kind, page: index.map(UInt64.init), table: nil, detail: detail))
    }
}

extension PageFile {
    /// The number of pages that are searched for a valid page number.
    private static let pagesToLookAt: UInt64 = 256
    private static let otherBeginnings: [[UInt8]] = [
        Array("SQLite format 3\u{0}".utf8), Array("PK\u{3}\u{4}".utf8), Array("bplist00".utf8), [0x1F, 0x8B],
    ]

    /// Whether the file is certainly not LMDB's: it begins like a text, an archive or another database, and none of its
    /// pages contains its own number. A store with two overwritten meta pages still has such pages, and a truncated
    /// store begins like LMDB.
    public var isOfOtherKind: Bool {
        guard let length = try? size(), length > 0 else { return false }
        var start = [UInt8](repeating: 0, count: Int(min(length, 4_096)))
        guard (try? read(at: 0, into: &start)) != nil else { return false }
        let isOther = PageFile.isText(start) || PageFile.otherBeginnings.contains { start.starts(with: $0) }
        return isOther && !hasNumberedPages
    }

    private var hasNumberedPages: Bool {
        let kinds: Set<UInt16> = [1, 2, 4]
        var head = [UInt8](repeating: 0, count: 16)
        for size in Meta.pageSizes {
            for page in 1..<PageFile.pagesToLookAt {
                guard (try? read(at: page * UInt64(size), into: &head)) != nil else { break }
                if head.u64(0) == page, kinds.contains(head.u16(10)) { return true }
            }
        }
        return false
    }

    /// Returns `true` if bytes are printable UTF-8 text with blanks and line ends. The last character may be cut off.
    private static func isText(_ bytes: [UInt8]) -> Bool {
        let hasControls = bytes.contains { $0 < 32 && $0 != 9 && $0 != 10 && $0 != 13 || $0 == 127 }
        return !hasControls && (0...3).contains { String(validating: bytes.dropLast($0), as: UTF8.self) != nil }
    }
}
