import HealthModel

/// A link between a sample and its id at a peer, as a chunk of links stores it.
public struct PackedLink: Hashable, Sendable {
    /// The way the link identifies its sample. Files contain the raw values.
    public enum Form: UInt8, Sendable {
        /// By its hash alone: the only live sample that has a stored id with this hash.
        case byRow = 0
        /// By the peer's id, which is also the sample's own id.
        case byPeerID = 1
        /// By its full id.
        case byID = 2
        /// Without a sample: invalidates the links with this peer id in older levels.
        case gone = 3
    }

    /// The upper 40 bits of the keyed hash of the sample's id.
    public var hash: UInt64
    public var form: Form
    /// The sample's id if the form contains it in full.
    public var sample: SampleID?
    public var idAtPeer: SampleID
    public var version: Int64
    public var isProvisional: Bool

    public init(
        hash: UInt64, form: Form, sample: SampleID? = nil, idAtPeer: SampleID, version: Int64, isProvisional: Bool
    ) {
        self.hash = hash
        self.form = form
        self.sample = sample
        self.idAtPeer = idAtPeer
        self.version = version
        self.isProvisional = isProvisional
    }

    var kind: UInt64 { UInt64(form.rawValue) << 1 | (isProvisional ? 1 : 0) }

    /// The order in chunks: by hash, then by the peer's id, which is unique.
    public static func isBefore(_ left: PackedLink, _ right: PackedLink) -> Bool {
        left.hash != right.hash ? left.hash < right.hash : left.idAtPeer < right.idAtPeer
    }
}

/// A page of a peer's links, sorted by the hashes of their samples. A link takes about twenty bytes.
///
/// ```
///  offset  size  field
///       0     2  number of links, n
///       2     1  the least kind
///       3     1  bits of a kind, b
///       4     1  ids: 0 whole, 1 random UUIDs
///       5     3  zero
///       8     -  hashes of the samples (`HashColumn`)
///       -     -  kinds less the least one, packed: form << 1 | provisional
///       -     -  the peer's ids: 16 bytes each (0), or three packed stretches of 41, 41 and 40 bits (1)
///       -  16*f  ids of the samples of form 2, in order
/// ```
///
/// The second column holds the versions as integers with bit 52 and the sign bit flipped. The version numbers of own
/// samples have bit 52 set, so they become the smallest integers, and all other versions become exceptions.
public struct LinkChunk: ~Escapable {
    private let span: RawSpan
    private let hashes: HashColumn
    private let leastKind: UInt64
    private let kindWidth: Int
    private let kinds: Int
    private let ids: Int
    private let areRandom: Bool
    private let samples: Int
    private let samplesEnd: Int
    private let versions: IntColumn
    public let count: Int

    static let fixed = 8
    static let tag: UInt8 = 1
    static let versionTag: UInt8 = 2
    static let blockShift = 12
    static let turned = Int64.min ^ 1 << 52

    /// Reads a value and requires that it belongs to `key`.
    @_lifetime(copy span)
    public init(_ span: RawSpan, key: RawSpan, verified: VerifiedBlocks? = nil) throws(FormatError) {
        let value = try StoredValue(span, table: .links, verified: verified)
        try value.expect(key: key)
        try value.verify()
        guard let range = try value.column(LinkChunk.tag), range.count >= LinkChunk.fixed,
            let versionRange = try value.column(LinkChunk.versionTag)
        else { throw FormatError(.truncated, "chunk of links") }
        self.span = value.span
        let start = range.lowerBound
        count = Int(span.load(start, as: UInt16.self))
        leastKind = UInt64(span.load(start + 2, as: UInt8.self))
        kindWidth = Int(span.load(start + 3, as: UInt8.self))
        let encoding = span.load(start + 4, as: UInt8.self)
        guard count > 0, kindWidth <= 8, encoding <= 1 else { throw FormatError(.invalid, "chunk of links") }
        areRandom = encoding == 1
        hashes = try HashColumn(span, start + LinkChunk.fixed, count: count, limit: range.upperBound)
        kinds = hashes.end
        ids = kinds + BitPacking.byteCount(words: count, width: kindWidth)
        samples = ids + (areRandom ? RandomIDs.byteCount(count) : 16 * count)
        samplesEnd = range.upperBound
        guard samples <= samplesEnd else { throw FormatError(.truncated, "chunk of links") }
        versions = try IntColumn(span, versionRange, rows: count)
    }

    /// The hash of the first link.
    public var firstHash: UInt64 { hashes.first }

    private func kind(_ index: Int) -> UInt64 {
        leastKind + BitPacking.word(at: index, width: kindWidth, span, kinds)
    }

    private func form(_ index: Int) throws(FormatError) -> PackedLink.Form {
        guard let form = PackedLink.Form(rawValue: UInt8(truncatingIfNeeded: kind(index) >> 1)) else {
            throw FormatError(.unknown, "form of a link")
        }
        return form
    }

    private func id(_ offset: Int) -> SampleID {
        SampleID(
            high: span.loadBigEndian(offset, as: UInt64.self), low: span.loadBigEndian(offset + 8, as: UInt64.self))
    }

    private func idAtPeer(_ index: Int) -> SampleID {
        areRandom ? RandomIDs.id(at: index, of: count, span, ids) : id(ids + 16 * index)
    }

    /// Returns the link at an index.
    ///
    /// - Parameter named: the number of earlier links that contain their sample's full id.
    private func link(
        _ index: Int, _ hash: UInt64, _ form: PackedLink.Form, named: Int
    ) throws(FormatError) -> PackedLink {
        var link = PackedLink(
            hash: hash, form: form, idAtPeer: idAtPeer(index),
            version: versions.value(span, at: index) ^ LinkChunk.turned,
            isProvisional: kind(index) & 1 == 1)
        guard form == .byID else { return link }
        let offset = samples + 16 * named
        guard offset + 16 <= samplesEnd else { throw FormatError(.truncated, "chunk of links") }
        link.sample = id(offset)
        return link
    }

    /// Appends all links in order.
    public func appendAll(to links: inout [PackedLink]) throws(FormatError) {
        try append(hashes.all(), from: 0, named: 0, idAtPeer: nil, to: &links)
    }

    /// Appends the links with hashes in a range; if `idAtPeer` is given, only those with this peer id.
    public func find(
        _ range: ClosedRange<UInt64>, idAtPeer: SampleID? = nil, into links: inout [PackedLink]
    ) throws(FormatError) {
        let found = try hashes.hashes(in: range)
        if found.hashes.isEmpty { return }
        if let idAtPeer,
            !(found.place..<found.place + found.hashes.count).contains(where: { self.idAtPeer($0) == idAtPeer })
        {
            return
        }
        var named = 0
        if samples < samplesEnd { for other in 0..<found.place where try form(other) == .byID { named += 1 } }
        try append(found.hashes, from: found.place, named: named, idAtPeer: idAtPeer, to: &links)
    }

    private func append(
        _ hashes: [UInt64], from place: Int, named: Int, idAtPeer: SampleID?, to links: inout [PackedLink]
    ) throws(FormatError) {
        var named = named
        for (offset, hash) in hashes.enumerated() {
            let form = try form(place + offset)
            let link = try link(place + offset, hash, form, named: named)
            if form == .byID { named += 1 }
            if idAtPeer == nil || link.idAtPeer == idAtPeer { links.append(link) }
        }
    }
}

/// Random UUIDs (version 4) without the six bits that they all share.
private enum RandomIDs {
    private static let widths = [41, 41, 40]

    static func isOne(_ id: SampleID) -> Bool { id.high >> 12 & 0xF == 4 && id.low >> 62 == 2 }

    static func byteCount(_ count: Int) -> Int {
        widths.reduce(0) { $0 + BitPacking.byteCount(words: count, width: $1) }
    }

    static func id(at index: Int, of count: Int, _ span: RawSpan, _ offset: Int) -> SampleID {
        let second = offset + BitPacking.byteCount(words: count, width: 41)
        let third = second + BitPacking.byteCount(words: count, width: 41)
        let low = BitPacking.word(at: index, width: 41, span, offset)
        let middle = BitPacking.word(at: index, width: 41, span, second)
        let high = BitPacking.word(at: index, width: 40, span, third)
        // 62 bits of the lower word, then 60 of the upper word.
        let upper = middle >> 21 | high << 20
        return SampleID(
            high: (upper >> 12) << 16 | 0x4000 | upper & 0xFFF, low: 2 << 62 | low | (middle & 0x1F_FFFF) << 41)
    }

    static func pack(_ ids: [SampleID], into writer: inout ByteWriter) {
        let mask: UInt64 = 1 << 41 - 1
        var words: [[UInt64]] = [[], [], []]
        for id in ids {
            let lower = id.low & (1 << 62 - 1)
            let upper = (id.high >> 16) << 12 | id.high & 0xFFF
            words[0].append(lower & mask)
            words[1].append(lower >> 41 | (upper & (1 << 20 - 1)) << 21)
            words[2].append(upper >> 20)
        }
        for (words, width) in zip(words, widths) { BitPacking.pack(words.span, width: width, into: &writer.bytes) }
    }
}

/// Encodes sorted links into chunks that each fill a page.
public struct LinkChunkEncoder: Sendable {
    private var pages: PageFilling

    public init(pageSize: Int) { pages = PageFilling(budget: pageSize - 16, guess: 190) }

    /// Writes one chunk from the front of `links`, and returns the number of links in it. Links with the same hash stay
    /// together.
    ///
    /// - Parameter key: returns the chunk's key for its first hash.
    public mutating func chunk(
        _ links: ArraySlice<PackedLink>, stamp: CommitStamp, key: (UInt64) -> [UInt8]
    ) -> (key: [UInt8], value: [UInt8], count: Int) {
        let ownKey = key(links.first!.hash)
        let (value, count) = pages.fill(links, areTogether: { $0.hash == $1.hash }) { links in
            LinkChunkEncoder.value(links, key: ownKey, stamp: stamp)
        }
        return (ownKey, value, count)
    }

    private static func value(_ links: ArraySlice<PackedLink>, key: [UInt8], stamp: CommitStamp) -> [UInt8] {
        let kinds = links.map(\.kind)
        let least = kinds.min()!
        let above = kinds.map { $0 - least }
        let width = BitPacking.width(of: above.max()!)
        let areRandom = links.allSatisfy { RandomIDs.isOne($0.idAtPeer) }
        var builder = StoredValueBuilder(table: .links, key: key, reserving: 4_096)
        builder.rows = links.count
        builder.column(LinkChunk.tag) { writer in
            writer.append(UInt16(links.count))
            writer.append(UInt8(least))
            writer.append(UInt8(width))
            writer.append(areRandom ? 1 : 0 as UInt8)
            for _ in 0..<3 { writer.append(0 as UInt8) }
            HashColumn.write(links.map(\.hash), into: &writer)
            BitPacking.pack(above.span, width: width, into: &writer.bytes)
            if areRandom {
                RandomIDs.pack(links.map(\.idAtPeer), into: &writer)
            } else {
                for link in links { writer.append(link.idAtPeer) }
            }
            for link in links where link.form == .byID { writer.append(link.sample!) }
        }
        let versions = links.map { $0.version ^ LinkChunk.turned }
        builder.column(LinkChunk.versionTag) { IntColumn.write(IntColumn.plan(versions.span, []), into: &$0) }
        return builder.finish(stamp: stamp, blockShift: LinkChunk.blockShift)
    }
}

extension ByteWriter {
    fileprivate mutating func append(_ id: SampleID) {
        appendBigEndian(id.high)
        appendBigEndian(id.low)
    }
}

/// Finds the number of entries that fill a page.
struct PageFilling: Sendable {
    let budget: Int
    private(set) var guess: Int

    init(budget: Int, guess: Int) { (self.budget, self.guess) = (budget, guess) }

    /// Returns the longest value that fits, from the front of `entries`, or the value of the smallest inseparable group
    /// of entries.
    mutating func fill<Entry>(
        _ entries: ArraySlice<Entry>, areTogether: (Entry, Entry) -> Bool, _ encode: (ArraySlice<Entry>) -> [UInt8]
    ) -> (value: [UInt8], count: Int) {
        let limit = min(entries.count, Int(UInt16.max))
        var fitting: (value: [UInt8], count: Int)?
        var (count, tooMany) = (min(limit, guess), limit + 1)
        for _ in 0..<12 {
            let value = encode(entries.prefix(count))
            if value.count <= budget {
                if count > fitting?.count ?? 0 { fitting = (value, count) }
                // Less room is left than one entry takes.
                if (budget - value.count) * count < value.count { break }
            } else {
                tooMany = min(tooMany, count)
            }
            // The size is nearly linear in the number of entries: a few steps lead to the last number that fits.
            let next = max((fitting?.count ?? 0) + 1, min(tooMany - 1, count * budget / value.count))
            if next >= tooMany { break }
            count = next
        }
        let found = fitting?.count ?? 1
        guess = found
        // Separates a group that has more entries than a value can count; the caller refuses such entries.
        let apart = min(limit, PageFilling.border(entries.prefix(limit + 1), found, areTogether))
        if apart == fitting?.count { return fitting! }
        return (encode(entries.prefix(apart)), apart)
    }

    /// Returns the last border between separable entries at or before `count`, or the first border after it if there is
    /// none.
    private static func border<Entry>(
        _ entries: ArraySlice<Entry>, _ count: Int, _ areTogether: (Entry, Entry) -> Bool
    ) -> Int {
        let first = entries.startIndex
        func isBorder(_ count: Int) -> Bool {
            count == entries.count || !areTogether(entries[first + count - 1], entries[first + count])
        }
        if let border = stride(from: count, to: 0, by: -1).first(where: isBorder) { return border }
        return (count...entries.count).first(where: isBorder) ?? entries.count
    }
}
