/// Checks that text may stand within an element of an export as it is: whole elements, well formed by every reader of
/// XML, and none that an import would take for something else. Parts of a workout may stand in one: an import takes
/// those for what they are, or keeps them as it did before.
struct Fragment {
    private let bytes: [UInt8]
    private let isOfWorkout: Bool
    private var place = 0
    private var open: [[UInt8]] = []

    /// Whether a text is such a fragment.
    static func isWhole(_ text: String, inWorkout isOfWorkout: Bool = false) -> Bool {
        var fragment = Fragment(bytes: Array(text.utf8), isOfWorkout: isOfWorkout)
        return fragment.isWhole()
    }

    private init(bytes: [UInt8], isOfWorkout: Bool) { (self.bytes, self.isOfWorkout) = (bytes, isOfWorkout) }

    private mutating func isWhole() -> Bool {
        while place < bytes.count {
            guard bytes[place] == 0x3C else {
                guard skipText() else { return false }
                continue
            }
            if !open.isEmpty, bytes.span.matches(ElementScanner.sectionStart, at: place) {
                guard skipSection() else { return false }
            } else if !skipTag() {
                return false
            }
        }
        return open.isEmpty
    }

    /// Passes over text up to the next tag. Between elements there is white space only.
    private mutating func skipText() -> Bool {
        let start = place
        while place < bytes.count, bytes[place] != 0x3C { place += 1 }
        if open.isEmpty { return bytes[start..<place].allSatisfy { isSpace($0) } }
        return isText(start..<place)
    }

    private mutating func skipSection() -> Bool {
        let start = place + ElementScanner.sectionStart.count
        guard let end = bytes.span.firstPlace(of: ElementScanner.sectionEnd, from: start) else { return false }
        place = end + ElementScanner.sectionEnd.count
        return bytes[start..<end].allSatisfy { $0 >= 0x20 || isSpace($0) }
    }

    private mutating func skipTag() -> Bool {
        place += 1
        let isClosing = place < bytes.count && bytes[place] == 0x2F
        if isClosing { place += 1 }
        guard let name = name() else { return false }
        if isClosing {
            place = bytes.span.skippingSpace(from: place)
            return open.popLast() == name && skip(0x3E)
        }
        let all = 0..<name.count
        if open.isEmpty, ExportName.isOfRecords(all, in: name.span) {
            guard isOfWorkout, ExportName.isPartOfWorkouts(all, in: name.span) else { return false }
        }
        guard TopLevel.name(name.span, 0..<name.count) == nil else { return false }
        var known: Set<[UInt8]> = []
        while true {
            let gap = place
            place = bytes.span.skippingSpace(from: place)
            if skip(0x3E) {
                open.append(name)
                return open.count < ElementScanner.deepest
            }
            if skip(0x2F) { return skip(0x3E) }
            guard place > gap, let attribute = self.name(), known.insert(attribute).inserted, skipValue() else {
                return false
            }
        }
    }

    /// Passes over the value of an attribute.
    private mutating func skipValue() -> Bool {
        place = bytes.span.skippingSpace(from: place)
        guard skip(0x3D) else { return false }
        place = bytes.span.skippingSpace(from: place)
        guard place < bytes.count, bytes[place] == 0x22 || bytes[place] == 0x27 else { return false }
        let quote = bytes[place]
        let start = place + 1
        place = start
        while place < bytes.count, bytes[place] != quote { place += 1 }
        guard place < bytes.count else { return false }
        place += 1
        return isText(start..<place - 1)
    }

    /// Whether characters and references are those that XML allows.
    private func isText(_ range: Range<Int>) -> Bool {
        let span = bytes.span
        if span.firstPlace(of: ElementScanner.sectionEnd, from: range.lowerBound, to: range.upperBound) != nil {
            return false
        }
        let empty = range.lowerBound..<range.lowerBound
        return !ExportText(ExportAttribute(name: empty, value: range, isPlain: false), in: span).isMended
    }

    private mutating func skip(_ byte: UInt8) -> Bool {
        guard place < bytes.count, bytes[place] == byte else { return false }
        place += 1
        return true
    }

    /// Reads a name. One with a prefix needs a declaration that is not here.
    private mutating func name() -> [UInt8]? {
        let start = place
        while place < bytes.count, ElementScanner.isName(bytes[place]), bytes[place] != 0x3A { place += 1 }
        guard place > start, bytes[start] | 0x20 >= 0x61 && bytes[start] | 0x20 <= 0x7A || bytes[start] == 0x5F else {
            return nil
        }
        return Array(bytes[start..<place])
    }
}
