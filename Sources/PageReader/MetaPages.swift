/// Both meta pages of a file, as far as they can be read, and what is wrong with them.
public struct MetaPages: Sendable {
    /// In their places; `nil` where there is none.
    public private(set) var pages: [Meta?] = [nil, nil]
    public private(set) var findings: [PageFinding] = []
    public private(set) var pageSize: Int?
    /// Why the system could not read a page. The finding that stands for it says nothing of the file then.
    public private(set) var failure: PageFileError?

    /// Reads and checks both.
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

    /// The meta page of the newest transaction among the sound ones.
    public var newest: Meta? {
        pages.compactMap { $0 }.filter { $0.version == 1 && $0.complaint == nil }
            .max { $0.transaction < $1.transaction }
    }

    /// The meta page of a transaction.
    public func page(of transaction: UInt64) -> Meta? {
        pages.compactMap { $0 }.first { $0.transaction == transaction }
    }

    /// Where the second page begins is told by the first; when that is ruined, each page size is tried.
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
                add(.metaUnreadable, index, "the meta page is none")
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

    /// Each commit writes the other page, so their transactions follow each other; a new file has twice zero.
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
