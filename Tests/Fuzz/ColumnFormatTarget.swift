import ColumnFormat
import HealthModel

/// Called by libFuzzer. The bytes are a value of a store or, after a byte of 255 and a length in four bytes, a chunk
/// and its details. The target corrects the checksums first, because no random change would pass them: this tests the
/// bounds checks alone.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ data: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let input = [UInt8](UnsafeBufferPointer(start: data, count: count))
    guard input.first == 255, input.count >= 5 else {
        try? decode(sealed(input))
        return 0
    }
    let length = (1..<5).reduce(0) { $0 | Int(input[$1]) << (8 * ($1 - 1)) }
    let middle = 5 + max(0, min(length, input.count - 5))
    try? join(sealed(Array(input[5..<middle])), sealed(Array(input[middle...])))
    return 0
}

private final class Names: DerivedIDResolver {
    private static let prefix = DerivedID.Prefix(type: .bodyMass, source: SourceIdentity(name: "source"))
    func derivedPrefix(type: UInt32, revision: UInt32) -> DerivedID.Prefix? { revision < 1_000 ? Names.prefix : nil }
    func canonicalValue(_ value: Double, unit: UInt32, type: UInt32) -> Double {
        HealthUnit(number: unit).map { DerivedID.canonical(value, $0, of: .bodyMass) } ?? value
    }
}

private func sealed(_ bytes: [UInt8]) -> [UInt8] { Forgery.resealed(bytes) ?? bytes }

private func key(_ bytes: [UInt8]) -> [UInt8] {
    let key = StoredValue.keyOffset(head: bytes.rawBytes)
    guard bytes.count > key else { return [] }
    return Array(bytes[key..<min(bytes.count, key + Int(bytes[24]))])
}

private func join(_ hot: [UInt8], _ details: [UInt8]) throws {
    let hotKey = key(hot)
    let detailsKey = key(details)
    let chunk = try HotChunk(hot.rawBytes, key: hotKey.rawBytes)
    let cold = try DetailsChunk(details.rawBytes, key: detailsKey.rawBytes)
    let decoder = try ChunkDecoder(hot: chunk, details: cold)
    let rows = try decoder.rows(Names())
    precondition(rows.count == chunk.rows)
    for row in rows { if let rare = row.rare { decode(rare.content) } }
}

private func decode(_ rare: RareFields.Content) {
    for metadata in [rare.metadata, rare.local].compactMap(\.self) { _ = try? MetadataCoding.decode(metadata) }
    if let payload = rare.payload {
        var sample = Sample(.workout, 1, .minute, at: .earliest)
        try? PayloadCoding.decode(payload, into: &sample)
    }
    if let original = rare.original { _ = try? OriginalCoding.decode(original) }
    if let reversion = rare.reversion { _ = try? ReversionCoding.decode(reversion) }
}

private func decodeSummary(_ bytes: [UInt8]) throws {
    let key = key(bytes)
    let block = try SummaryBlock(bytes.rawBytes, key: key.rawBytes)
    do {
        for level in SummaryLevel.allCases {
            guard let cells = try block.cells(level) else { continue }
            var words = ScratchColumn<Int64>(capacity: level.cells)
            var values = ScratchColumn<Double>(capacity: level.cells)
            for column in SummaryColumn.allCases where try cells.has(column) {
                try? words.refill { output throws(FormatError) in try cells.decode(column, into: &output) }
                try? values.refill { output throws(FormatError) in try cells.decode(column, into: &output) }
            }
            for row in 0..<cells.rows { precondition(cells.row(cells.cell(row)) == row) }
        }
    } catch {
        // Only bytes that are a valid block get here, so meeting the fault proves that the fuzzer reaches the decoders.
        if PlantedFault.isPlanted { fatalError("the planted fault was met") }
        throw error
    }
}

private func decode(_ bytes: [UInt8]) throws {
    guard let first = bytes.first, let table = TableCode(rawValue: first) else { return }
    switch table {
    case .chunks: try decodeHot(bytes)
    case .summaries where key(bytes).count > 5: try decodeSummary(bytes)
    case .identity:
        let value = try StoredValue(bytes.rawBytes, table: .identity)
        let block = try IdentityBlock(value)
        var entries: [IdentityEntry] = []
        try block.appendAll(to: &entries)
        precondition(entries.count <= bytes.count * 8)
        if let entry = entries.last { try block.find(entry.hash, into: &entries) }
    case .details:
        let key = key(bytes)
        try DetailsChunk(bytes.rawBytes, key: key.rawBytes).verify()
    case .links where key(bytes).count == 23: try decodeLinks(bytes)
    default:
        var record = try RecordReader(bytes.rawBytes, table: table, key: key(bytes))
        while !record.isAtEnd {
            let metadata = try record.readBytes()
            _ = try? MetadataCoding.decode(metadata)
            _ = try record.readOptionalText()
        }
    }
}

/// Decodes a chunk of links or a block of hints.
private func decodeLinks(_ bytes: [UInt8]) throws {
    let key = key(bytes)
    if let chunk = try? LinkChunk(bytes.rawBytes, key: key.rawBytes) {
        var links: [PackedLink] = []
        try? chunk.appendAll(to: &links)
        precondition(links.count <= chunk.count)
        try chunk.find(0...(1 << 40), into: &links)
    }
    let block = try LinkHintBlock(bytes.rawBytes, key: key.rawBytes)
    var hints: [(hash: UInt64, place: UInt64)] = []
    try? block.appendAll(to: &hints)
    precondition(hints.count <= block.count)
    var ranges: [ClosedRange<UInt64>] = []
    try block.find(block.firstHash, into: &ranges)
}

private func decodeHot(_ bytes: [UInt8]) throws {
    let key = key(bytes)
    let chunk = try HotChunk(bytes.rawBytes, key: key.rawBytes)
    try chunk.verify()
    var words = ScratchColumn<Int64>(capacity: ChunkEncoder.rowLimit)
    var values = ScratchColumn<Double>(capacity: ChunkEncoder.rowLimit)
    try words.refill { column throws(FormatError) in try chunk.decodeStarts(into: &column) }
    try words.refill { column throws(FormatError) in try chunk.decodeDurations(into: &column) }
    try words.refill { column throws(FormatError) in try chunk.decodeRevisions(into: &column) }
    try words.refill { column throws(FormatError) in try chunk.decodeUnits(into: &column) }
    try words.refill { column throws(FormatError) in try chunk.decodeFlags(into: &column) }
    try values.refill { column throws(FormatError) in try chunk.decodeValues(into: &column) }
    _ = try chunk.distinctRevisions()
    for stretch in [0...Int64.max, Int64.min...0, 1...1_000_000_000] {
        let found = try chunk.find(startingIn: stretch)
        precondition(found.rows.lowerBound >= 0 && found.rows.upperBound <= chunk.rows)
        _ = try chunk.find(startingIn: stretch, endingFrom: 1)
    }
}
