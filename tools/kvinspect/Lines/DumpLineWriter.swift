import HealthKV

/// Writes the lossless line of one stored sample after another, with the same bytes as ``SampleRecord``. It keeps the
/// bytes of the parts that repeat: unit, source and clock, devices, metadata.
struct DumpLineWriter {
    /// The number of texts kept: far more than histories have. Beyond it, the cache starts over.
    private static let pieceLimit = 4096
    /// The number of origins kept: as many as alternate.
    private static let originLimit = 12

    private static let idStart = 7
    /// A whole second: what the dates of most samples take.
    private static let second = Array("0000-00-00T00:00:00Z".utf8)

    /// Unit and source, by number.
    private struct Names: Hashable {
        var unit: UInt32
        var source: UInt32
    }

    /// Unit, source and clock, which in most histories go together.
    private struct Origin: Hashable {
        var names: Names
        var clock: ChangeClock
    }

    /// From the brace to the value. Id and dates of each sample are written over those of the one before.
    private var head: [UInt8]
    private let startPlace: Int
    private let endPlace: Int
    private var dates = DateWriter()
    private var names: [Names: [UInt8]] = [:]
    private var devices: [UInt32: [UInt8]] = [:]
    private var metadata: [[UInt8]: [UInt8]] = [:]
    /// The clock of the previous line: an origin is kept once its clock repeats.
    private var latestClock: ChangeClock?
    private var origins: [(origin: Origin, json: [UInt8])] = []
    private var nextOrigin = 0

    init(_ type: SampleType) {
        head = Array("{\"id\":\"".utf8) + IDText.blank + Array("\"".utf8)
        head += JSONWriter.piece { writer in
            writer.key(.type)
            writer.string(type.identifier)
            writer.key(.start)
        }
        head.append(0x22)
        startPlace = head.count
        head += DumpLineWriter.second + Array("\",\"end\":\"".utf8)
        endPlace = head.count
        head += DumpLineWriter.second + Array("\",\"value\":".utf8)
    }

    /// Writes a sample; `whole` makes all of it.
    mutating func write(_ sample: StoredSample, to writer: inout JSONWriter, whole: () throws -> Sample) throws {
        if let rare = sample.rare, rare.hasMore {
            return SampleRecord(sample: try whole(), detail: .lossless).write(to: &writer)
        }
        // Do everything that can throw before the first byte is written: a line must be whole.
        let isSynced = sample.version > 1 || sample.isSyncedByID || sample.rare?.syncIdentifier != nil
        let origin = Origin(names: Names(unit: sample.unit, source: sample.source), clock: sample.modified)
        let known = isSynced ? nil : origins.indices.first { origins[$0].origin == origin }
        let names = known == nil ? try json(of: origin.names, whole) : []
        let device = sample.device == 0 ? nil : try json(ofDevice: sample.device, whole)
        let metadata = try sample.rare?.metadata.map { try json(ofMetadata: $0, whole) }
        writer.beginPieces()
        writeHead(sample, to: &writer)
        writer.double(sample.value)
        if let known {
            writer.piece(origins[known].json, needsComma: true)
        } else {
            let start = writer.bytes.count
            writer.piece(names, needsComma: true)
            if isSynced { writeSync(sample, to: &writer) }
            write(sample.modified, to: &writer)
            if !isSynced { remember(origin, writer.bytes[start...]) }
        }
        if !sample.isImported { writer.field("origin", Sample.Origin.authored.rawValue) }
        if sample.isUserEntered { writer.field("userEntered", true) }
        if sample.count != 1 { writer.field("count", Int64(sample.count)) }
        if sample.multiplicity != 0 { writer.field("multiplicity", Int64(sample.multiplicity)) }
        if let device { writer.piece(device, needsComma: true) }
        if let metadata { writer.piece(metadata, needsComma: true) }
        if let rare = sample.rare {
            writer.field("group", optional: rare.group)
            writer.field("timeZone", optional: rare.timeZone)
        }
        writer.endObject()
    }

    private mutating func writeHead(_ sample: borrowing StoredSample, to writer: inout JSONWriter) {
        if DumpLineWriter.fill(&head, startPlace, endPlace, with: sample, &dates) {
            return writer.piece(head, needsComma: false)
        }
        let after = DumpLineWriter.second.count
        writer.piece(head[..<startPlace], needsComma: false)
        writer.datePiece(sample.start)
        writer.piece(head[(startPlace + after)..<endPlace], needsComma: false)
        writer.datePiece(sample.end)
        writer.piece(head[(endPlace + after)...], needsComma: false)
    }

    /// Overwrites the id and dates in a head. Returns `false` if a date does not fit.
    private static func fill(
        _ head: inout [UInt8], _ startPlace: Int, _ endPlace: Int, with sample: borrowing StoredSample,
        _ dates: inout DateWriter
    ) -> Bool {
        var span = head.mutableSpan
        IDText.write(sample.id, into: &span, at: idStart)
        return dates.write(utc: sample.start, into: &span, at: startPlace)
            && dates.write(utc: sample.end, into: &span, at: endPlace)
    }

    private func writeSync(_ sample: StoredSample, to writer: inout JSONWriter) {
        let text = sample.rare?.syncIdentifier
        if sample.isSyncedByID {
            writer.key(.syncIdentifier)
            writer.id(sample.id)
        } else if let text {
            writer.key(.syncIdentifier)
            writer.string(text)
        }
        writer.key(.syncVersion)
        writer.integer(sample.version)
    }

    /// Keeps the bytes of an origin if its clock repeats.
    private mutating func remember(_ origin: Origin, _ json: ArraySlice<UInt8>) {
        let isRepeated = origin.clock == latestClock
        latestClock = origin.clock
        guard isRepeated else { return }
        if origins.count < DumpLineWriter.originLimit {
            origins.append((origin, Array(json)))
        } else {
            origins[nextOrigin] = (origin, Array(json))
            nextOrigin = (nextOrigin + 1) % DumpLineWriter.originLimit
        }
    }

    private func write(_ clock: ChangeClock, to writer: inout JSONWriter) {
        writer.key(.modified)
        writer.instant(clock.time, in: .utc)
        writer.key(.replica)
        writer.integer(Int64(clock.replica))
    }

    private mutating func json(of key: Names, _ whole: () throws -> Sample) throws -> [UInt8] {
        if let known = names[key] { return known }
        let sample = try whole()
        let json = JSONWriter.piece { writer in
            writer.key(.unit)
            writer.string(sample.quantity.unit.symbol)
            writer.key(.source)
            writer.source(sample.source)
        }
        if names.count == DumpLineWriter.pieceLimit { names = [:] }
        names[key] = json
        return json
    }

    private mutating func json(ofDevice number: UInt32, _ whole: () throws -> Sample) throws -> [UInt8] {
        if let known = devices[number] { return known }
        let device = try whole().device
        let json = JSONWriter.piece { writer in if let device { SampleRecord.write(device, to: &writer) } }
        if devices.count == DumpLineWriter.pieceLimit { devices = [:] }
        devices[number] = json
        return json
    }

    private mutating func json(ofMetadata bytes: [UInt8], _ whole: () throws -> Sample) throws -> [UInt8] {
        if let known = metadata[bytes] { return known }
        let values = try whole().metadata
        let json = JSONWriter.piece { writer in
            if values.isEmpty { return }
            writer.key("metadata")
            writer.metadata(values, in: .utc)
        }
        if metadata.count == DumpLineWriter.pieceLimit { metadata = [:] }
        metadata[bytes] = json
        return json
    }
}
