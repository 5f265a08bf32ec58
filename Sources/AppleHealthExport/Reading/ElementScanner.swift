/// Finds the elements of an export, strictly: what does not fit is left to ``ElementMender``.
///
/// References, control characters and foreign bytes in values are no defects of structure; the scanner passes over them
/// and notes that they are there.
struct ElementScanner {
    /// What stands at a place.
    enum Step {
        case element
        /// A closing tag without an opening one.
        case closing(name: Range<Int>, end: Int)
        /// A comment or an instruction, up to this place.
        case ignored(end: Int)
        /// The bytes end before the element does.
        case incomplete
        case broken
    }

    private enum TagKind { case open, empty, close }

    private enum Tag {
        case tag(TagKind, end: Int)
        case ignored(end: Int)
        case incomplete
        case broken
    }

    /// What text directly within an element of the top level is.
    private enum StrayText {
        /// A part of an element that this reader does not know.
        case belongs
        /// A defect that says nothing of what stands beside it.
        case strays
        /// A sign that the element is broken.
        case breaks

        init(of name: TopLevel?) {
            self =
                switch name {
                case .record, .workout: .strays
                case .correlation, .activitySummary, .exportDate, .me, .settings: .breaks
                case .clinicalRecord, .audiogram, .visionPrescription, nil: .belongs
                }
        }
    }

    private(set) var element = ExportElement()
    /// Whether the element itself may hold text, as those of unknown kinds may.
    private let takesText: Bool
    private var open: [Range<Int>] = []
    /// The ends of comments, instructions and sections that do not follow in the bytes at hand, with the place from
    /// where on that is known: broken bytes ask for them again and again.
    private var missing: [[UInt8]: Int] = [:]
    /// Whether the bytes at hand are a mended copy of an element, of which that says nothing.
    private var isCopy = false

    private static let commentStart = Array("<!--".utf8)
    private static let commentEnd = Array("-->".utf8)
    static let sectionStart = Array("<![CDATA[".utf8)
    static let sectionEnd = Array("]]>".utf8)
    private static let instructionEnd = Array("?>".utf8)

    init(takesText: Bool = false) { self.takesText = takesText }

    /// Notes that the element at hand was read otherwise than it stands.
    mutating func noteMended() { element.isMended = true }

    /// Forgets what is known of the bytes before. Call it when they are others.
    mutating func beginBytes() { missing = [:] }

    /// Returns the place of the end of a comment, an instruction or a section; `nil` if none follows.
    private mutating func place(of end: [UInt8], in bytes: borrowing Span<UInt8>, from start: Int) -> Int? {
        if !isCopy, let known = missing[end], known <= start { return nil }
        if let place = bytes.firstPlace(of: end, from: start) { return place }
        if !isCopy { missing[end] = start }
        return nil
    }

    /// Reads the element that begins at a place, which holds `<`.
    ///
    /// - Parameter isCopy: whether the bytes are others than those that were begun with.
    mutating func step(_ bytes: borrowing Span<UInt8>, at start: Int, isCopy: Bool = false) -> Step {
        self.isCopy = isCopy
        element.removeAll()
        open.removeAll(keepingCapacity: true)
        switch tag(bytes, at: start, depth: 0) {
        case .incomplete: return .incomplete
        case .broken: return .broken
        case .ignored(let end): return .ignored(end: end)
        case .tag(.close, let end): return .closing(name: element.nodes[0].name, end: end)
        case .tag(.empty, let end):
            element.range = start..<end
            return .element
        case .tag(.open, let end): return content(bytes, from: end, start)
        }
    }

    /// Reads what stands within an element, up to its closing tag.
    private mutating func content(_ bytes: borrowing Span<UInt8>, from first: Int, _ start: Int) -> Step {
        open.append(element.nodes[0].name)
        let rule = StrayText(of: TopLevel.name(bytes, open[0]))
        var place = first
        while true {
            // Elements of an export hold elements only. What others hold nobody knows.
            let isOfOthers = open.count > 1 ? !ExportName.isOfRecords(open[1], in: bytes) : rule == .belongs
            if takesText || isOfOthers {
                guard let next = skippingText(bytes, from: place) else { return .incomplete }
                place = next
            } else if open.count == 1, rule == .strays {
                let start = bytes.skippingSpace(from: place)
                guard let next = skippingText(bytes, from: start) else { return .incomplete }
                if next > start { element.isMended = true }
                place = next
            } else {
                place = bytes.skippingSpace(from: place)
            }
            guard place < bytes.count else { return .incomplete }
            guard bytes[place] == 0x3C else { return .broken }
            switch tag(bytes, at: place, depth: open.count) {
            case .incomplete: return .incomplete
            case .broken: return .broken
            case .ignored(let end): place = end
            case .tag(.empty, let end):
                guard fits(bytes) else { return .broken }
                place = end
            case .tag(.open, let end):
                guard open.count < ElementScanner.deepest, fits(bytes) else { return .broken }
                open.append(element.nodes[element.nodes.count - 1].name)
                place = end
            case .tag(.close, let end):
                let name = element.nodes.removeLast().name
                guard let last = open.popLast(), same(bytes, last, name) else { return .broken }
                place = end
                if open.isEmpty {
                    element.range = start..<end
                    return .element
                }
            }
        }
    }

    /// Returns the next place with a tag, behind text and sections of text; `nil` if the bytes end before.
    private mutating func skippingText(_ bytes: borrowing Span<UInt8>, from start: Int) -> Int? {
        var place = start
        while place < bytes.count {
            if bytes[place] != 0x3C {
                place += 1
            } else if bytes.matches(ElementScanner.sectionStart, at: place) {
                guard let end = self.place(of: ElementScanner.sectionEnd, in: bytes, from: place) else { return nil }
                place = end + ElementScanner.sectionEnd.count
            } else {
                return place
            }
        }
        return nil
    }

    /// Whether the last tag may stand where it stands: an element of the top level within another one means that the
    /// other one was never closed.
    private func fits(_ bytes: borrowing Span<UInt8>) -> Bool {
        guard let node = element.nodes.last, TopLevel.name(bytes, node.name) != nil else { return true }
        return node.depth == 1 && TopLevel.name(bytes, element.nodes[0].name) == .correlation
            && TopLevel.name(bytes, node.name) == .record
    }

    /// The most attributes of one element; those of Apple have fewer than twenty.
    private static let mostAttributes = 256
    /// How deep elements lie within each other at most; those of Apple have three levels.
    static let deepest = 32

    private func same(_ bytes: borrowing Span<UInt8>, _ left: Range<Int>, _ right: Range<Int>) -> Bool {
        guard left.count == right.count else { return false }
        for offset in 0..<left.count where bytes[left.lowerBound + offset] != bytes[right.lowerBound + offset] {
            return false
        }
        return true
    }

    /// Reads one tag and appends its node; of a closing tag as well.
    private mutating func tag(_ bytes: borrowing Span<UInt8>, at start: Int, depth: Int) -> Tag {
        var place = start + 1
        guard place < bytes.count else { return .incomplete }
        if bytes[place] == 0x21 {
            if bytes.matches(ElementScanner.commentStart, at: start) {
                guard let end = self.place(of: ElementScanner.commentEnd, in: bytes, from: start + 4) else {
                    return .incomplete
                }
                return .ignored(end: end + 3)
            }
            return bytes.count - start < 4 ? .incomplete : .broken
        }
        if bytes[place] == 0x3F {
            guard let end = self.place(of: ElementScanner.instructionEnd, in: bytes, from: place) else {
                return .incomplete
            }
            return .ignored(end: end + 2)
        }
        let isClosing = bytes[place] == 0x2F
        if isClosing { place += 1 }
        let nameStart = place
        while place < bytes.count, ElementScanner.isName(bytes[place]) { place += 1 }
        guard place < bytes.count else { return .incomplete }
        guard place > nameStart else { return .broken }
        let name = nameStart..<place
        let firstAttribute = element.attributes.count
        while true {
            let gap = place
            place = bytes.skippingSpace(from: place)
            guard place < bytes.count else { return .incomplete }
            let byte = bytes[place]
            if byte == 0x3E || byte == 0x2F {
                let isEmpty = byte == 0x2F
                if isEmpty {
                    place += 1
                    guard place < bytes.count else { return .incomplete }
                    guard bytes[place] == 0x3E, !isClosing else { return .broken }
                }
                let attributes = firstAttribute..<element.attributes.count
                guard !isClosing || attributes.isEmpty else { return .broken }
                element.nodes.append(
                    ExportNode(name: name, attributes: attributes, depth: depth, tag: start..<place + 1))
                return .tag(isClosing ? .close : isEmpty ? .empty : .open, end: place + 1)
            }
            guard place > gap else { return .broken }
            switch attribute(bytes, at: place, since: firstAttribute) {
            case .end(let end): place = end
            case .incomplete: return .incomplete
            case .broken: return .broken
            }
        }
    }

    private enum Attribute { case end(Int), incomplete, broken }

    /// Reads one attribute and appends it. The attributes of its tag begin at `first`.
    private mutating func attribute(_ bytes: borrowing Span<UInt8>, at start: Int, since first: Int) -> Attribute {
        var place = start
        while place < bytes.count, ElementScanner.isName(bytes[place]) { place += 1 }
        guard place < bytes.count else { return .incomplete }
        let name = start..<place
        place = bytes.skippingSpace(from: place)
        guard place < bytes.count else { return .incomplete }
        guard !name.isEmpty, bytes[place] == 0x3D else { return .broken }
        place = bytes.skippingSpace(from: place + 1)
        guard place < bytes.count else { return .incomplete }
        let quote = bytes[place]
        guard quote == 0x22 || quote == 0x27 else { return .broken }
        place += 1
        let valueStart = place
        // Everything but printable ASCII without `&` and `<` leaves a bit.
        var isPlain = true
        var isOdd = false
        while place < bytes.count, bytes[place] != quote {
            let byte = bytes[place]
            if byte &- 0x20 > 0x5E || byte == 0x26 || byte == 0x3C {
                isPlain = false
                if byte == 0x3C || byte < 0x20 && !isSpace(byte) { isOdd = true }
            }
            place += 1
        }
        guard place + 1 < bytes.count else { return .incomplete }
        let next = bytes[place + 1]
        guard isSpace(next) || next == 0x2F || next == 0x3E else { return .broken }
        guard element.attributes.count - first < ElementScanner.mostAttributes else { return .broken }
        // A name that stands twice is a defect of the writer that only the mender can interpret.
        for known in element.attributes[first...] where same(bytes, known.name, name) { return .broken }
        element.isMended = element.isMended || isOdd
        element.attributes.append(ExportAttribute(name: name, value: valueStart..<place, isPlain: isPlain))
        return .end(place + 1)
    }

    @inline(__always)
    static func isName(_ byte: UInt8) -> Bool {
        byte | 0x20 >= 0x61 && byte | 0x20 <= 0x7A || byte >= 0x30 && byte <= 0x39 || byte == 0x5F || byte == 0x2D
            || byte == 0x3A || byte == 0x2E
    }
}
