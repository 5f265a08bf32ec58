import HealthKV

/// A line as nearly all lines of an export are: a record whose attributes stand in Apple's order. The attributes before
/// the dates are those of an earlier record, so nothing of them has to be read again.
struct FastRecord {
    let head: RecordHead
    /// The record's number for its kind of measurement, and for the same typed in by a person.
    var kind: Int
    var enteredKind: Int?
    /// The numbers of category values; `nil` for quantities.
    var cases: [(text: [UInt8], number: Double)]?
    /// Whether records with this head are wanted at all.
    let isWanted: Bool

    /// What stands at a place.
    struct Line {
        var created: Int64
        var start: Int64
        var end: Int64
        var value: Range<Int>
        /// Behind the value's quote.
        var rest: Int
    }

    private static let startName = Array("\" startDate=\"".utf8)
    private static let endName = Array("\" endDate=\"".utf8)
    private static let valueName = Array("\" value=\"".utf8)

    /// Whether a store certainly takes a record with these dates and this value. Others are read in full, so that a
    /// refusal concerns this record alone.
    static func isStorable(_ line: Line, _ value: Double) -> Bool {
        line.start >= Instant.earliest.nanoseconds && line.end < Instant.latest.nanoseconds
            && abs(value) <= Sample.greatestConverted
    }

    /// Reads the dates and the place of the value behind the head. Returns `nil` if the line is of another form.
    static func line(_ bytes: borrowing Span<UInt8>, behind head: Int) -> Line? {
        var place = head
        guard let created = ExportDates.read(bytes, at: place) else { return nil }
        place += ExportDates.length
        guard bytes.matches(startName, at: place) else { return nil }
        place += startName.count
        guard let start = ExportDates.read(bytes, at: place) else { return nil }
        place += ExportDates.length
        guard bytes.matches(endName, at: place) else { return nil }
        place += endName.count
        guard let end = ExportDates.read(bytes, at: place), start <= end else { return nil }
        place += ExportDates.length
        guard bytes.matches(valueName, at: place) else { return nil }
        place += valueName.count
        let value = place
        while place < bytes.count, bytes[place] != 0x22 {
            // Only letters, digits, and what numbers have.
            let byte = bytes[place]
            guard byte >= 0x2B, byte < 0x7B, byte != 0x3C, byte != 0x3E else { return nil }
            place += 1
        }
        guard place < bytes.count, place > value else { return nil }
        return Line(created: created, start: start, end: end, value: value..<place, rest: place + 1)
    }
}

/// What stands from `<Record` to the quote before the creation date. A device is described with an address in the
/// process that wrote the export, which differs from record to record and tells nothing.
struct RecordHead: Equatable {
    private let front: [UInt8]
    /// What follows the address; `nil` if there is none.
    private let back: [UInt8]?

    private static let address = Array(" device=\"&lt;&lt;HKDevice: 0x".utf8)
    private static let addressEnd = Array("&gt;".utf8)

    init(_ bytes: borrowing Span<UInt8>, _ range: Range<Int>) {
        guard let place = bytes.firstPlace(of: RecordHead.address, from: range.lowerBound, to: range.upperBound),
            case let digits = place + RecordHead.address.count,
            case let rest = RecordHead.end(ofAddress: bytes, at: digits),
            bytes.matches(RecordHead.addressEnd, at: rest),
            // Within other quotes it may be the text of another attribute.
            bytes.firstPlace(of: [0x27], from: range.lowerBound, to: range.upperBound) == nil
        else {
            (front, back) = (bytes.copied(range), nil)
            return
        }
        front = bytes.copied(range.lowerBound..<digits)
        back = bytes.copied(rest..<range.upperBound)
    }

    /// Returns where the head ends that begins at a place; `nil` if it is another one.
    @inline(__always)
    func end(_ bytes: borrowing Span<UInt8>, at start: Int) -> Int? {
        guard bytes.matches(front, at: start) else { return nil }
        let digits = start + front.count
        guard let back else { return digits }
        let place = RecordHead.end(ofAddress: bytes, at: digits)
        return bytes.matches(back, at: place) ? place + back.count : nil
    }

    private static func end(ofAddress bytes: borrowing Span<UInt8>, at start: Int) -> Int {
        var place = start
        while place < bytes.count, isHexDigit(bytes[place]) { place += 1 }
        return place
    }

    private static func isHexDigit(_ byte: UInt8) -> Bool {
        byte >= 0x30 && byte <= 0x39 || byte | 0x20 >= 0x61 && byte | 0x20 <= 0x66
    }
}

/// The metadata of records, as it stands between their tags. Few texts repeat many times.
struct KnownMetadata<Content> {
    private var blocks: [(bytes: [UInt8], content: Content)] = []
    private var next = 0

    private static var most: Int { 8 }

    /// Returns the content of a block that begins at a place, and where it ends.
    func find(_ bytes: borrowing Span<UInt8>, at place: Int) -> (content: Content, end: Int)? {
        for block in blocks where bytes.matches(block.bytes, at: place) {
            return (block.content, place + block.bytes.count)
        }
        return nil
    }

    mutating func remember(_ bytes: [UInt8], _ content: Content) {
        if blocks.count < Self.most {
            blocks.append((bytes, content))
        } else {
            blocks[next] = (bytes, content)
            next = (next + 1) % Self.most
        }
    }

    mutating func removeAll() {
        blocks = []
        next = 0
    }
}
