import HealthKV

/// Reads an export from its first byte to its last and passes on what it finds. It holds one element at a time.
struct ExportReader {
    /// Bytes that are read at once.
    private static let piece = 1 << 20
    /// An element that is longer than this counts as broken. The longest route of an exact export has half of it.
    private static let longestElement = 64 << 20
    /// The root begins within so many bytes, or the file is no export.
    private static let longestHead = 1 << 20

    /// Where the bytes at hand begin in the file.
    private var offset = 0
    private var place = 0
    private var isAtEnd = false
    /// Whether the root has ended. What stands behind it is searched for elements.
    private var isBehindRoot = false
    private var scanner = ElementScanner()
    /// Where the next element at the top level, and the next name of a correlation's type, were found.
    private var (topLevel, types) = (KnownPlace(), KnownPlace())
    private var records = RecordReader()
    private var summaries = SummaryReader()
    private var fast: [FastRecord] = []
    private var nextFast = 0
    private var generation = 0
    private var known = KnownMetadata<(extras: SampleBatch.Extras?, isUserEntered: Bool)>()
    private var correlations = TwinCounter()
    private let routes: RouteFiles

    init(routes: RouteFiles = RouteFiles()) { self.routes = routes }

    private static let root = Array("<HealthData".utf8)
    private static let rootEnd = Array("</HealthData".utf8)
    private static let entity = Array("<!ENTITY".utf8)
    private static let (commentStart, commentEnd) = (Array("<!--".utf8), Array("-->".utf8))
    private static let recordStart = Array("<Record".utf8)

    /// Records of a few sources alternate; so many heads are remembered.
    private static let mostHeads = 16
    /// The values of a category that a head remembers; they are searched one after the other.
    private static let mostCases = 64

    /// Takes what was not taken.
    typealias Quarantine = (Quarantined) throws -> Void
    /// Told how many bytes were read.
    typealias Progress = (Int) throws -> Void

    /// Reads everything that a source gives.
    mutating func read(
        _ source: some ByteSource, into sink: inout RecordSink, _ quarantine: Quarantine, _ progress: Progress
    ) throws {
        var source = source
        var buffer: [UInt8] = []
        place = try ExportReader.readHead(&source, &buffer)
        // A root without content ends where it begins.
        isBehindRoot = place >= 2 && buffer[place - 2] == 0x2F
        while true {
            try readElements(buffer.span, &sink, quarantine)
            try progress(offset + place)
            if isAtEnd { break }
            if place > 0 {
                buffer.removeFirst(place)
                offset += place
                place = 0
            }
            isAtEnd = try source.read(into: &buffer, atMost: ExportReader.piece) == 0
        }
        sink.report.isCutOff = !isBehindRoot
    }

    /// Passes over everything before the root. The document type says nothing that real files obey. Returns where the
    /// first element may stand.
    private static func readHead(_ source: inout some ByteSource, _ buffer: inout [UInt8]) throws -> Int {
        while true {
            if let end = try headEnd(buffer.span, isAll: false) { return end }
            let count = try source.read(into: &buffer, atMost: piece)
            if count > 0, buffer.count < longestHead + piece { continue }
            guard let end = try headEnd(buffer.span, isAll: true) else { throw noExport(buffer.span) }
            return end
        }
    }

    /// Says why bytes are no export, where their beginning shows what they are.
    private static func noExport(_ bytes: borrowing Span<UInt8>) -> HealthImportError {
        if bytes.matches([0x1F, 0x8B], at: 0) { return .gzip }
        if bytes.matches([0xFE, 0xFF], at: 0) || bytes.matches([0xFF, 0xFE], at: 0) { return .utf16 }
        return .noExport
    }

    /// Returns where the tag of the root ends; `nil` if it is not there yet. What stands in a comment is neither the
    /// root nor a declaration.
    ///
    /// - Parameter isAll: whether no more bytes come. Then a comment that does not end is none.
    private static func headEnd(_ bytes: borrowing Span<UInt8>, isAll: Bool) throws -> Int? {
        var (place, hasEnds) = (0, true)
        while let mark = bytes.firstPlace(of: [0x3C], from: place) {
            place = mark + 1
            if bytes.matches(entity, at: mark) { throw HealthImportError.entities }
            if bytes.matches(root, at: mark) { return rootTagEnd(bytes, from: mark + root.count, isAll: isAll) }
            guard hasEnds, bytes.matches(commentStart, at: mark) else { continue }
            if let close = bytes.firstPlace(of: commentEnd, from: mark + commentStart.count) {
                place = close + commentEnd.count
            } else if isAll {
                hasEnds = false
            } else {
                return nil
            }
        }
        return nil
    }

    /// Returns the place behind the first `>` outside quotes; `nil` if it is not there yet. No value holds a `<`: where
    /// one comes first, a quote is missing, and the first `>` counts.
    private static func rootTagEnd(_ bytes: borrowing Span<UInt8>, from start: Int, isAll: Bool) -> Int? {
        var (place, quote): (Int, UInt8?) = (start, nil)
        while place < bytes.count, bytes[place] != 0x3C {
            let byte = bytes[place]
            if byte == 0x3E, quote == nil { return place + 1 }
            if byte == quote { quote = nil } else if quote == nil, byte == 0x22 || byte == 0x27 { quote = byte }
            place += 1
        }
        guard place < bytes.count || isAll else { return nil }
        return bytes.firstPlace(of: [0x3E], from: start).map { $0 + 1 }
    }

    /// Reads all elements that the bytes hold in full.
    private mutating func readElements(
        _ bytes: borrowing Span<UInt8>, _ sink: inout RecordSink, _ quarantine: Quarantine
    ) throws {
        scanner.beginBytes()
        while true {
            if sink.generation != generation {
                generation = sink.generation
                fast = []
                nextFast = 0
            }
            let start = bytes.skippingSpace(from: place)
            guard start < bytes.count else {
                place = start
                return
            }
            if isBehindRoot {
                guard let next = passOverRest(bytes, from: start, &sink) else { return }
                place = next
                guard next == start else { continue }
            }
            if bytes[start] != 0x3C {
                guard let next = try passOver(bytes, from: start, "text that belongs to no element", &sink, quarantine)
                else {
                    return
                }
                place = next
                continue
            }
            if try readFast(bytes, at: start, &sink) { continue }
            if bytes.matches(ExportReader.rootEnd, at: start) {
                let end = bytes.skippingSpace(from: start + ExportReader.rootEnd.count)
                if end == bytes.count, !isAtEnd {
                    place = start
                    return
                }
                isBehindRoot = true
                place = end < bytes.count && bytes[end] == 0x3E ? end + 1 : end
                continue
            }
            switch scanner.step(bytes, at: start) {
            case .ignored(let end): place = end
            case .closing(_, let end):
                // What it closed was broken, and is counted there.
                place = end
            case .element:
                switch isCutShort(bytes) {
                case false?:
                    try take(bytes, &sink, quarantine)
                    place = scanner.element.range.upperBound
                case true?:
                    guard let next = try takeCutShort(bytes, &sink, quarantine) else { return }
                    place = next
                case nil:
                    place = start
                    return
                }
            case .incomplete where bytes.count - start < ExportReader.longestElement && !isAtEnd:
                place = start
                return
            case .incomplete, .broken:
                guard let next = try mend(bytes, from: start, &sink, quarantine) else { return }
                place = next
            }
        }
    }

    // MARK: A slash too many

    /// What stands directly within records and workouts.
    private static let children = [
        ExportName.metadataEntry, .workoutEvent, .workoutStatistics, .workoutActivity, .workoutRoute, .beats,
    ].map { [0x3C] + $0.bytes }
    private static let beatsStart = [0x3C] + ExportName.beats.bytes

    /// Whether the element that the scanner holds has lost what stands within it to a slash that ends its tag. Returns
    /// `nil` if more bytes are needed to know.
    private func isCutShort(_ bytes: borrowing Span<UInt8>) -> Bool? {
        let (element, end) = (scanner.element, scanner.element.range.upperBound)
        guard element.nodes.count == 1, bytes[end - 2] == 0x2F,
            let name = TopLevel.name(bytes, element.nodes[0].name),
            name == .record || name == .workout || name == .correlation
        else { return false }
        let next = bytes.skippingSpace(from: end)
        // Far behind the tag nothing belongs to it.
        if next - end > ExportReader.longestSpace { return false }
        guard isAtEnd || bytes.count - next >= ExportReader.longestName else { return nil }
        if bytes.matches(closing(name), at: next) { return true }
        if name != .correlation { return ExportReader.children.contains { bytes.matches($0, at: next) } }
        guard let outside = self.end(bytes, ofBrokenAt: element.range.lowerBound, isOutside: true) else { return nil }
        return bytes.firstPlace(of: closing(name), from: end, to: outside) != nil
    }

    private func closing(_ name: TopLevel) -> [UInt8] { Array("</\(name.rawValue)>".utf8) }

    /// Takes the element that the scanner holds with what stands behind it, as if there were no slash. Returns where to
    /// go on, or `nil` if more bytes are needed to know.
    private mutating func takeCutShort(
        _ bytes: borrowing Span<UInt8>, _ sink: inout RecordSink, _ quarantine: Quarantine
    ) throws -> Int? {
        let (start, tagEnd) = (scanner.element.range.lowerBound, scanner.element.range.upperBound)
        let isCorrelation = bytes.matches(ExportReader.correlationStart, at: start)
        guard let end = end(bytes, ofBrokenAt: start, isOutside: isCorrelation) else { return nil }
        let whole = bytes.copied(start..<tagEnd - 2) + bytes.copied(tagEnd - 1..<end)
        guard case .element = scanner.step(whole.span, at: 0, isCopy: true) else {
            // What follows belongs to something else, and the tag is complete.
            guard case .element = scanner.step(bytes, at: start) else { return tagEnd }
            try take(bytes, &sink, quarantine)
            return tagEnd
        }
        let taken = scanner.element.range.upperBound
        try take(restored: whole, at: start, of: bytes.copied(start..<start + taken + 1), &sink, quarantine)
        return start + taken + 1
    }

    /// Takes the element that the scanner holds, which is written otherwise than it stands at a place of the file.
    private mutating func take(
        restored: [UInt8], at start: Int, of original: [UInt8], _ sink: inout RecordSink, _ quarantine: Quarantine
    ) throws {
        scanner.noteMended()
        let place = offset + start
        try take(restored.span, &sink) { part in
            // A part within it has no place of its own in the file.
            try quarantine(Quarantined(offset: place, reason: part.reason, bytes: original))
        }
    }

    // MARK: The ordinary line

    /// Reads a record whose first attributes were those of an earlier one. Returns `false` if it is no such record.
    @inline(__always)
    private mutating func readFast(
        _ bytes: borrowing Span<UInt8>, at start: Int, _ sink: inout RecordSink
    ) throws -> Bool {
        for index in fast.indices {
            guard let head = fast[index].head.end(bytes, at: start) else { continue }
            guard let line = FastRecord.line(bytes, behind: head),
                let value = fastValue(bytes, line.value, index), line.rest + 1 < bytes.count,
                FastRecord.isStorable(line, value)
            else { return false }
            var (end, kind) = (line.rest + 2, fast[index].kind)
            var extras: SampleBatch.Extras?
            if bytes[line.rest] == 0x3E {
                guard let found = known.find(bytes, at: line.rest) else { return false }
                end = found.end
                extras = found.content.extras
                if found.content.isUserEntered {
                    guard let entered = fast[index].enteredKind else { return false }
                    kind = entered
                }
            } else if bytes[line.rest] != 0x2F || bytes[line.rest + 1] != 0x3E || !isOutside(bytes, behind: end) {
                return false
            }
            try sink.add(
                kind: kind, start: line.start, end: line.end, value: value, created: line.created, extras: extras,
                isWanted: fast[index].isWanted)
            place = end
            return true
        }
        return false
    }

    /// Whether no part of a record stands behind an empty tag, as far as two bytes show.
    @inline(__always)
    private func isOutside(_ bytes: borrowing Span<UInt8>, behind end: Int) -> Bool {
        let next = bytes.skippingSpace(from: end) + 1
        guard next < bytes.count else { return false }
        return bytes[next] != 0x2F && bytes[next] != 0x4D && bytes[next] != 0x48
    }

    @inline(__always)
    private func fastValue(_ bytes: borrowing Span<UInt8>, _ range: Range<Int>, _ index: Int) -> Double? {
        guard let cases = fast[index].cases else { return DecimalNumber.read(bytes, range) }
        for known in cases
        where known.text.count == range.count && bytes.matches(known.text, at: range.lowerBound) {
            return known.number
        }
        return nil
    }

    /// Remembers the head of a record that was read in full, and its metadata.
    private mutating func remember(
        _ bytes: borrowing Span<UInt8>, _ record: ImportedRecord, _ element: ExportElement, _ sink: inout RecordSink
    ) {
        let node = element.nodes[0]
        guard let created = element.attribute(ExportName.creationDate.bytes, of: node, in: bytes),
            let value = element.attribute(ExportName.value.bytes, of: node, in: bytes), value.isPlain,
            let line = FastRecord.line(bytes, behind: created.value.lowerBound), line.value == value.value,
            // Each value of such a type is compared with its range.
            record.type.definition?.range == nil
        else { return }
        let head = RecordHead(bytes, element.range.lowerBound..<created.value.lowerBound)
        // The kinds of what is not wanted are not numbered: no batch would ever end their list.
        let isWanted = sink.isWanted(record.type, record.source)
        let number = isWanted ? kind(of: record, isUserEntered: record.isUserEntered, &sink) : 0
        if let index = fast.firstIndex(where: { $0.head == head }) {
            if record.isUserEntered { fast[index].enteredKind = number } else { fast[index].kind = number }
            let text = bytes.copied(value.value)
            if let cases = fast[index].cases, cases.count < ExportReader.mostCases,
                !cases.contains(where: { $0.text == text })
            {
                fast[index].cases?.append((text, record.value))
            }
        } else {
            var entry = FastRecord(
                head: head, kind: number, enteredKind: record.isUserEntered ? number : nil,
                cases: record.type.kind == .quantity ? nil : [(bytes.copied(value.value), record.value)],
                isWanted: isWanted)
            if record.isUserEntered, isWanted { entry.kind = kind(of: record, isUserEntered: false, &sink) }
            if fast.count < ExportReader.mostHeads {
                fast.append(entry)
            } else {
                fast[nextFast] = entry
                nextFast = (nextFast + 1) % ExportReader.mostHeads
            }
        }
        guard bytes[line.rest] == 0x3E, record.syncIdentifier == nil, record.local.isEmpty else { return }
        known.remember(
            bytes.copied(line.rest..<element.range.upperBound), (record.extras, record.isUserEntered))
    }

    private func kind(of record: ImportedRecord, isUserEntered: Bool, _ sink: inout RecordSink) -> Int {
        sink.number(
            of: HistoryBatcher.Kind(
                type: record.type, unit: record.unit, source: record.source, device: record.device,
                isUserEntered: isUserEntered))
    }

    // MARK: Elements

    /// Takes the element that the scanner holds.
    private mutating func take(
        _ bytes: borrowing Span<UInt8>, _ sink: inout RecordSink, _ quarantine: Quarantine
    ) throws {
        let element = scanner.element
        var isMended = element.isMended
        do {
            switch TopLevel.name(bytes, element.nodes[0].name) {
            case .record:
                let record = try records.record(element, 0, bytes, &isMended)
                if try !takeExact(record, &sink) {
                    try sink.add(record, isMended: isMended)
                    // The ordinary line has no place for the name of a case.
                    let isOrdinary = !isMended && record.local[ExactKeys.value] == nil
                    if isOrdinary { remember(bytes, record, element, &sink) }
                }
            case .correlation:
                let lost = try take(bytes, correlation: element, &isMended, &sink)
                if lost > 0 { throw RecordReader.Refusal(reason: "a record within it cannot be read") }
            case .workout:
                let record = try WorkoutReader.record(element, bytes, &records, &isMended)
                if try !takeExact(record, &sink) { try sink.add(record) }
                try take(bytes, routesOf: element, &isMended, &sink, quarantine)
            case .activitySummary: try sink.add(try summaries.totals(element, bytes, &records, &isMended))
            case .exportDate: return summaries.note(exportDate: element, bytes)
            case .me: return sink.report.keepOut("Me", bytes: element.range.count)
            case .settings:
                let text = records.text(.value, element, element.nodes[0], bytes, &isMended)
                guard !isMended, let settings = text.flatMap({ ExactSettings($0) }) else {
                    throw RecordReader.Refusal(reason: "the settings cannot be read")
                }
                sink.settings = settings
                return
            case .some(let kind): return sink.report.keepOut(kind.rawValue, bytes: element.range.count)
            case nil where TopLevel.mayBeDamaged(element, bytes):
                throw RecordReader.Refusal(reason: "it is of an unknown kind")
            case nil:
                let name = String(decoding: bytes.copied(element.nodes[0].name), as: UTF8.self)
                return sink.report.keepOut(name, bytes: element.range.count)
            }
            keepOut(bytes, &sink)
            if isMended { sink.report.mended += 1 }
        } catch let refusal as RecordReader.Refusal {
            // What was left out of it is in the quarantine with the rest.
            records.keptOut.removeAll()
            if isUnwanted(element, bytes, &sink) { return }
            try reject(bytes, element.range, refusal.reason, &sink, quarantine)
        }
    }

    /// Returns `true` for a record or workout that cannot be read and that nobody wants, as its type or source says. It
    /// counts as skipped.
    private mutating func isUnwanted(
        _ element: ExportElement, _ bytes: borrowing Span<UInt8>, _ sink: inout RecordSink
    ) -> Bool {
        guard let node = element.nodes.first, let name = TopLevel.name(bytes, node.name),
            name == .record || name == .workout, !records.mayBeWanted(element, name, bytes, sink.wanted)
        else { return false }
        sink.report.read += 1
        sink.report.skipped += 1
        return true
    }

    /// Counts what stands within the element that the scanner holds and is not taken: elements of unknown kinds below
    /// others than records and workouts, and texts that are too long.
    private mutating func keepOut(_ bytes: borrowing Span<UInt8>, _ sink: inout RecordSink) {
        countLongTexts(&sink)
        let isCorrelation = TopLevel.name(bytes, scanner.element.nodes[0].name) == .correlation
        var keptBelow = Int.max
        for node in scanner.element.nodes.dropFirst() {
            if node.depth <= keptBelow { keptBelow = .max }
            guard node.depth < keptBelow, !ExportName.isOfRecords(node.name, in: bytes) else { continue }
            keptBelow = node.depth
            // A record or workout keeps what stands directly within it.
            if node.depth == 1, !isCorrelation { continue }
            sink.report.keepOut(
                String(decoding: bytes.copied(node.name), as: UTF8.self), bytes: node.tag.count)
        }
    }

    private mutating func countLongTexts(_ sink: inout RecordSink) {
        for (kind, size) in records.keptOut { sink.report.keepOut(kind, bytes: size) }
        records.keptOut.removeAll()
    }

    /// Takes the routes of a workout, each with the points of its file.
    private mutating func take(
        _ bytes: borrowing Span<UInt8>, routesOf element: ExportElement, _ isMended: inout Bool,
        _ sink: inout RecordSink, _ quarantine: Quarantine
    ) throws {
        for (number, node) in element.nodes.enumerated()
        where node.depth == 1 && ExportName.workoutRoute.isName(of: node, in: bytes) {
            let file = WorkoutReader.reference(element, number, bytes, records).flatMap { routes.file($0) }
            do {
                try take(bytes, element, number, file, &isMended, &sink)
            } catch let refusal as RecordReader.Refusal {
                // A route without points is none, whatever else is wrong with it.
                guard file != nil else {
                    sink.report.keepOut(ExportName.workoutRoute.text, bytes: node.tag.count)
                    continue
                }
                try reject(bytes, node.tag, "a route of it: \(refusal.reason)", &sink, quarantine)
            }
        }
    }

    /// Takes one route, which stands in a node of a workout.
    private mutating func take(
        _ bytes: borrowing Span<UInt8>, _ element: ExportElement, _ number: Int, _ file: RouteFiles.File?,
        _ isMended: inout Bool, _ sink: inout RecordSink
    ) throws {
        var record = try WorkoutReader.route(element, number, bytes, &records, &isMended)
        if try takeExact(record, &sink) { return }
        if !sink.isWanted(record.type, record.source) { return try sink.add(record) }
        guard let file else {
            return sink.report.keepOut(ExportName.workoutRoute.text, bytes: element.nodes[number].tag.count)
        }
        guard let found = try ExportReader.points(of: file), found.lost > 0 || !found.points.isEmpty else {
            return sink.report.keepOut(ExportName.workoutRoute.text, bytes: file.bytes)
        }
        // A part of a route would stand in the way of the whole one in a later export.
        if found.lost > 0 { throw RecordReader.Refusal(reason: "\(found.lost) of its points are damaged") }
        record.value = Double(found.points.count)
        record.route = WorkoutRoute(found.points)
        try RecordReader.validate(record)
        try sink.add(record)
    }

    private static func points(of file: RouteFiles.File) throws(RecordReader.Refusal) -> RouteFile? {
        do {
            return try RouteFile.read(file.open())
        } catch {
            throw RecordReader.Refusal(reason: "its file cannot be read")
        }
    }

    /// Takes the records within a correlation, as members of one group. Returns how many cannot be read.
    private mutating func take(
        _ bytes: borrowing Span<UInt8>, correlation element: ExportElement, _ isMended: inout Bool,
        _ sink: inout RecordSink
    ) throws -> Int {
        let isExact = try takeHead(of: element, bytes, &sink)
        var (members, lost): ([ImportedRecord], Int) = ([], 0)
        for (number, node) in element.nodes.enumerated()
        where node.depth == 1 && ExportName.record.isName(of: node, in: bytes) {
            do {
                var isOdd = false
                let record = try records.record(element, number, bytes, &isOdd)
                if isOdd { try ExportReader.refuseGuessed(record) }
                isMended = isMended || isOdd
                members.append(record)
            } catch {
                lost += 1
            }
        }
        // Its records are taken even if nobody can read to what they belong.
        var (group, refusal): (String?, RecordReader.Refusal?)
        do {
            let head = try head(of: element, bytes, &isMended)
            group = self.group(head, of: members)
        } catch {
            refusal = error
        }
        try add(members, group: group, isMended: isMended, &sink)
        if let refusal { throw refusal }
        if element.nodes.count == 1, !isExact {
            sink.report.keepOut("Correlation without records", bytes: element.range.count)
        }
        return lost
    }

    /// Takes the sample that an exact export carries in a correlation. A group has no metadata of its own, so otherwise
    /// the correlation's are counted as kept out. Returns whether it carried a sample.
    @discardableResult
    private func takeHead(
        of element: ExportElement, _ bytes: borrowing Span<UInt8>, _ sink: inout RecordSink
    ) throws -> Bool {
        if try takeExact(correlation: element, bytes, &sink) { return true }
        for node in element.nodes where node.depth == 1 && ExportName.metadataEntry.isName(of: node, in: bytes) {
            sink.report.keepOut("MetadataEntry of Correlation", bytes: node.tag.count)
        }
        return false
    }

    /// Far more than a meal has. One batch takes as many, each of another source.
    private static let mostMembers = 1 << 15

    /// Adds the records of a correlation, none of them in another batch than the others.
    private func add(
        _ members: [ImportedRecord], group: String?, isMended: Bool, _ sink: inout RecordSink
    ) throws {
        guard members.count <= ExportReader.mostMembers else {
            throw RecordReader.Refusal(reason: "it has too many members")
        }
        // The record at the top level carries the whole sample as well.
        for var record in members where record.metadata[ExactKeys.sample] == nil {
            record.group = group
            try sink.add(record, isNested: true, isMended: isMended)
        }
        try sink.flushIfFull()
    }

    /// What a correlation says of itself.
    private struct CorrelationHead {
        let prefix: DerivedID.Prefix
        let (start, end): (Int64, Int64)
    }

    private mutating func head(
        of element: ExportElement, _ bytes: borrowing Span<UInt8>, _ isMended: inout Bool
    ) throws(RecordReader.Refusal) -> CorrelationHead {
        guard let name = records.text(.type, element, element.nodes[0], bytes, &isMended) else {
            throw RecordReader.Refusal(reason: "it has no type")
        }
        let (start, end) = try records.times(element, element.nodes[0], bytes)
        let source = try records.source(element, element.nodes[0], bytes, &isMended)
        let prefix = DerivedID.Prefix(type: SampleType(name), source: source.source.identity)
        return CorrelationHead(prefix: prefix, start: start, end: end)
    }

    /// Names the group of a correlation by what is the same in every export of it, whatever other correlations of its
    /// time the file holds. A store keeps the name that the group has there.
    private mutating func group(_ head: CorrelationHead, of members: [ImportedRecord]) -> String {
        var sum: UInt64 = 0
        for record in members {
            var hash = WordHash(seed: 5)
            hash.mix(record.type.identifier)
            hash.mix(UInt64(bitPattern: record.start.nanoseconds))
            hash.mix(UInt64(bitPattern: record.end.nanoseconds))
            hash.mix(DerivedID.canonical(record.value, record.unit, of: record.type).bitPattern)
            sum &+= hash.value
        }
        func id(_ earlier: Int) -> SampleID {
            DerivedID.id(
                head.prefix, start: head.start, end: head.end, value: Double(bitPattern: sum), multiplicity: earlier)
        }
        let earlier = correlations.count(id(0))
        return id(earlier).description
    }

    /// Takes the sample of a correlation itself. Returns `false` if the correlation carries none: only an exact export
    /// writes it.
    private func takeExact(
        correlation element: ExportElement, _ bytes: borrowing Span<UInt8>, _ sink: inout RecordSink
    ) throws -> Bool {
        var (isExact, isMended) = (false, false)
        for node in element.nodes where node.depth == 1 && ExportName.metadataEntry.isName(of: node, in: bytes) {
            guard let entry = records.metadata(element, node, bytes, &isMended), entry.key == ExactKeys.sample else {
                continue
            }
            guard let sample = ExactKeys.sample(of: entry.text) else {
                throw RecordReader.Refusal(reason: "the sample that it carries cannot be read")
            }
            try sink.add(exact: sample)
            isExact = true
        }
        return isExact
    }

    /// Takes a record that carries the whole sample of a store. Returns `false` if it carries none.
    private func takeExact(_ record: ImportedRecord, _ sink: inout RecordSink) throws -> Bool {
        guard !record.metadata.isEmpty, case .string(let text)? = record.metadata[ExactKeys.sample] else {
            return false
        }
        guard let sample = ExactKeys.sample(of: text) else {
            throw RecordReader.Refusal(reason: "the sample that it carries cannot be read")
        }
        try sink.add(exact: sample)
        return true
    }

    // MARK: What is broken

    /// Reads what can be read of the broken element at a place. Returns where to go on, or `nil` if more bytes are
    /// needed to know.
    private mutating func mend(
        _ bytes: borrowing Span<UInt8>, from start: Int, _ sink: inout RecordSink, _ quarantine: Quarantine
    ) throws -> Int? {
        if mayBeCorrelation(bytes, at: start) { return try mend(bytes, correlationFrom: start, &sink, quarantine) }
        guard let end = end(bytes, ofBrokenAt: start, isOutside: false) else { return nil }
        if end == bytes.count {
            // Nobody knows how it went on.
            try reject(bytes, start..<end, "the file ends within it", &sink, quarantine)
            return end
        }
        try mend(bytes, start..<end, &sink, quarantine)
        return end
    }

    /// Whether a broken element is a correlation: by its name, or by its type if the name is damaged. Its members stand
    /// at the top level as well, so they must not be read as if they stood there.
    private mutating func mayBeCorrelation(_ bytes: borrowing Span<UInt8>, at start: Int) -> Bool {
        if bytes.matches(ExportReader.correlationStart, at: start) { return true }
        // A record may say the name of such a type in a text.
        if bytes.matches(ExportReader.recordStart, at: start) { return false }
        let end = min(nextTopLevel(bytes, from: start + 1) ?? bytes.count, start + ExportReader.piece)
        let type = types.next(bytes, from: start, at: offset) {
            $0.firstPlace(of: ExportReader.correlationType, from: $1)
        }
        return type.map { $0 + ExportReader.correlationType.count <= end } ?? false
    }

    /// Returns where the next element at the top level begins, as far as the bytes show.
    private mutating func nextTopLevel(_ bytes: borrowing Span<UInt8>, from start: Int) -> Int? {
        topLevel.next(bytes, from: start, at: offset) { TopLevel.next($0, from: $1) }
    }

    private static let correlationStart = Array("<Correlation".utf8)
    private static let correlationType = Array("CorrelationTypeIdentifier".utf8)

    /// Returns where a broken element ends: where the next one begins.
    private func end(_ bytes: borrowing Span<UInt8>, ofBrokenAt start: Int, isOutside: Bool) -> Int? {
        if let next = TopLevel.next(bytes, from: start + 1, isOutside: isOutside) { return next }
        return isAtEnd || bytes.count - start >= ExportReader.longestElement ? bytes.count : nil
    }

    /// Reads a broken correlation: its members are indented more than what stands outside.
    private mutating func mend(
        _ bytes: borrowing Span<UInt8>, correlationFrom start: Int, _ sink: inout RecordSink, _ quarantine: Quarantine
    ) throws -> Int? {
        let closing = Array("</Correlation>".utf8)
        guard let outside = end(bytes, ofBrokenAt: start, isOutside: true) else { return nil }
        var end = outside
        if let close = bytes.firstPlace(of: closing, from: start, to: outside) { end = close + closing.count }
        let members = TopLevel.next(bytes, from: start + 1).map { min($0, end) } ?? end
        var (head, isTaken): (CorrelationHead?, Bool) = (nil, false)
        // The start of its tag may be lost.
        let tag = bytes[start] == 0x3C || start == 0 ? start : start - 1
        if let element = ElementMender().mend(bytes, in: tag..<members) {
            var isMended = true
            head = try? self.head(of: element, bytes, &isMended)
            do {
                if head != nil { try takeHead(of: element, bytes, &sink) }
                isTaken = head != nil
            } catch is RecordReader.Refusal {}
        }
        if isTaken {
            sink.report.mended += 1
        } else {
            try reject(bytes, start..<members, "it is broken", &sink, quarantine)
        }
        var (place, found): (Int, [ImportedRecord]) = (members, [])
        while place < end {
            let next = TopLevel.next(bytes, from: place + 1).map { min($0, end) } ?? end
            if case .element = scanner.step(bytes, at: place), scanner.element.range.upperBound <= next {
                let element = scanner.element
                var isMended = element.isMended
                do {
                    let record = try records.record(element, 0, bytes, &isMended)
                    if isMended { try ExportReader.refuseGuessed(record) }
                    found.append(record)
                } catch {
                    try reject(bytes, element.range, error.reason, &sink, quarantine)
                }
                // Before the end of the correlation nothing else may follow.
                let rest = bytes.skippingSpace(from: element.range.upperBound)
                if rest < next, bytes[rest] != 0x3C {
                    try reject(bytes, rest..<next, "text that belongs to no element", &sink, quarantine)
                }
            } else {
                try reject(bytes, place..<next, "it is broken", &sink, quarantine)
            }
            place = next
        }
        do {
            try add(found, group: head.map { group($0, of: found) }, isMended: true, &sink)
        } catch let refusal as RecordReader.Refusal {
            try reject(bytes, members..<end, refusal.reason, &sink, quarantine)
        }
        return end
    }

    /// Refuses a record within a correlation of which a text holds what no writer wrote. It stands at the top level as
    /// well, and two readings of one record must not become two samples. A defect of the writer is the same in both.
    private static func refuseGuessed(_ record: ImportedRecord) throws(RecordReader.Refusal) {
        var texts = [record.type.identifier, record.source.name, record.source.version, record.timeZone]
        texts += (record.device?.fields ?? []) + [record.syncIdentifier]
        for (key, value) in record.metadata {
            texts.append(key)
            if case .string(let text) = value { texts.append(text) }
        }
        guard texts.allSatisfy({ $0?.unicodeScalars.contains("\u{FFFD}") != true }) else {
            throw RecordReader.Refusal(reason: "a text of it is damaged")
        }
    }

    /// Passes over what stands behind the root before the next element of an export. Returns where to go on; `nil` if
    /// more bytes are needed to know.
    private mutating func passOverRest(
        _ bytes: borrowing Span<UInt8>, from start: Int, _ sink: inout RecordSink
    ) -> Int? {
        if let next = TopLevel.next(bytes, from: start) {
            keepOutRest(bytes, start..<next, &sink)
            return next
        }
        // The beginning of an element may be at the end.
        let end = isAtEnd ? bytes.count : max(start, bytes.count - ExportReader.longestName)
        keepOutRest(bytes, start..<end, &sink)
        place = end
        return nil
    }

    /// Counts text behind the root, without its white space: that is passed over wherever a piece begins with it.
    private func keepOutRest(_ bytes: borrowing Span<UInt8>, _ range: Range<Int>, _ sink: inout RecordSink) {
        let count = range.count { !isSpace(bytes[$0]) }
        if count > 0 { sink.report.keepOut(ExportReader.rest, bytes: count, isNew: false) }
    }

    private static let rest = "text behind the root"
    private static let longestName = 64
    private static let longestSpace = 4_096

    /// Reads a broken record or workout, or puts it into quarantine.
    private mutating func mend(
        _ bytes: borrowing Span<UInt8>, _ range: Range<Int>, _ sink: inout RecordSink, _ quarantine: Quarantine
    ) throws {
        let element = ElementMender().mend(bytes, in: range)
        if let element, let restored = restored(bytes, element) {
            return try take(restored: restored, at: range.lowerBound, of: part(bytes, range), &sink, quarantine)
        }
        do {
            guard let element, let node = element.nodes.first else {
                throw RecordReader.Refusal(reason: "it is broken")
            }
            var isMended = true
            switch TopLevel.name(bytes, node.name) {
            case .record:
                let record = try records.record(element, 0, bytes, &isMended)
                if try !takeExact(record, &sink) { try sink.add(record, isMended: true) }
                if let beats = bytes.firstPlace(
                    of: ExportReader.beatsStart, from: node.tag.upperBound, to: range.upperBound)
                {
                    sink.report.keepOut(ExactKeys.beats, bytes: range.upperBound - beats)
                }
            case .activitySummary: try sink.add(try summaries.totals(element, bytes, &records, &isMended))
            case .exportDate: summaries.note(exportDate: element, bytes)
            case .me: break
            default: throw RecordReader.Refusal(reason: "it is broken")
            }
            sink.report.mended += 1
            countLongTexts(&sink)
        } catch let refusal as RecordReader.Refusal {
            if let element {
                if isUnwanted(element, bytes, &sink) { return }
            } else if isUnwanted(bytes, range, &sink) {
                return
            }
            try reject(bytes, range, refusal.reason, &sink, quarantine)
        }
    }

    /// The same for a record that is no element any more, whose type and source still stand in its tag, each once and
    /// between quotes.
    private mutating func isUnwanted(
        _ bytes: borrowing Span<UInt8>, _ range: Range<Int>, _ sink: inout RecordSink
    ) -> Bool {
        guard bytes.matches(ExportReader.recordStart, at: range.lowerBound) else { return false }
        let bracket = bytes.firstPlace(of: [0x3E], from: range.lowerBound, to: range.upperBound)
        let tag = range.lowerBound..<(bracket ?? range.upperBound)
        guard bytes.firstPlace(of: ExportReader.recordStart, from: tag.lowerBound + 1, to: tag.upperBound) == nil else {
            return false
        }
        func text(_ name: ExportName) -> String? {
            let opening = [0x20] + name.bytes + [0x3D]
            guard let place = bytes.firstPlace(of: opening, from: tag.lowerBound, to: tag.upperBound),
                bytes.firstPlace(of: opening, from: place + 1, to: tag.upperBound) == nil
            else { return nil }
            let start = place + opening.count + 1
            guard start < tag.upperBound, bytes[start - 1] == 0x22,
                let end = bytes.firstPlace(of: [0x22], from: start, to: tag.upperBound), end + 1 < tag.upperBound,
                bytes[end + 1] == 0x20 || bytes[end + 1] == 0x2F
            else { return nil }
            let value = ExportText(ExportAttribute(name: start..<start, value: start..<end, isPlain: false), in: bytes)
            // A quote that is missing makes the name of the next attribute a part of the value.
            return value.isMended || value.text.contains("=") ? nil : value.text
        }
        let isType = sink.wanted.types.map { types in text(.type).map { types.contains(SampleType($0)) } ?? true }
        let isSource = sink.wanted.sources.map { names in text(.sourceName).map { names.contains($0) } ?? true }
        guard isType == false || isSource == false else { return false }
        sink.report.read += 1
        sink.report.skipped += 1
        return true
    }

    /// Lets the scanner read a record or workout whose tag was mended, with all that stands within it. Returns `nil` if
    /// more is broken than the tag.
    private mutating func restored(_ bytes: borrowing Span<UInt8>, _ element: ExportElement) -> [UInt8]? {
        guard let text = ElementMender.rewritten(element, bytes) else { return nil }
        guard case .element = scanner.step(text.span, at: 0, isCopy: true) else { return nil }
        let end = scanner.element.range.upperBound
        return text.span.skippingSpace(from: end) == text.count ? text : nil
    }

    /// Passes over bytes that are no element. Returns where to go on.
    private mutating func passOver(
        _ bytes: borrowing Span<UInt8>, from start: Int, _ reason: String, _ sink: inout RecordSink,
        _ quarantine: Quarantine
    ) throws -> Int? {
        var end = start
        while end < bytes.count, bytes[end] != 0x3C { end += 1 }
        // What it belongs to may stand behind it, so the outcome must not depend on how many bytes are there.
        guard nextTopLevel(bytes, from: start + 1) != nil || isAtEnd || bytes.count - start >= ExportReader.piece
        else { return nil }
        if mayBeCorrelation(bytes, at: start) { return try mend(bytes, correlationFrom: start, &sink, quarantine) }
        try reject(bytes, start..<end, reason, &sink, quarantine)
        return end
    }

    /// Copies a part of the file. White space behind a part belongs to nothing.
    private func part(_ bytes: borrowing Span<UInt8>, _ range: Range<Int>) -> [UInt8] {
        var end = range.upperBound
        while end > range.lowerBound, isSpace(bytes[end - 1]) { end -= 1 }
        return bytes.copied(range.lowerBound..<end)
    }

    private func reject(
        _ bytes: borrowing Span<UInt8>, _ range: Range<Int>, _ reason: String, _ sink: inout RecordSink,
        _ quarantine: Quarantine
    ) throws {
        sink.report.quarantined += 1
        try quarantine(Quarantined(offset: offset + range.lowerBound, reason: reason, bytes: part(bytes, range)))
    }
}
