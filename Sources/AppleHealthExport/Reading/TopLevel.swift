/// The elements that stand at the top level of an export.
enum TopLevel: String, CaseIterable {
    case record = "Record"
    case correlation = "Correlation"
    case workout = "Workout"
    case activitySummary = "ActivitySummary"
    case clinicalRecord = "ClinicalRecord"
    case audiogram = "Audiogram"
    case visionPrescription = "VisionPrescription"
    case me = "Me"
    case exportDate = "ExportDate"
    case settings = "HealthKVSettings"

    private static let names: [(TopLevel, [UInt8])] = allCases.map { ($0, Array($0.rawValue.utf8)) }

    /// Returns the element with a name.
    static func name(_ bytes: borrowing Span<UInt8>, _ range: Range<Int>) -> TopLevel? {
        for (element, name) in names where name.count == range.count && bytes.matches(name, at: range.lowerBound) {
            return element
        }
        return nil
    }

    /// Whether an element of another name may be one of these whose name is damaged: a letter or two differ, or it has
    /// the attributes of a record.
    static func mayBeDamaged(_ element: ExportElement, _ bytes: borrowing Span<UInt8>) -> Bool {
        let node = element.nodes[0]
        let attributes = [ExportName.type, .startDate, .endDate, .sourceName]
        if attributes.allSatisfy({ element.attribute($0.bytes, of: node, in: bytes) != nil }) { return true }
        let text = bytes.copied(node.name)
        // No name is longer than twenty letters.
        guard text.count <= longestToCompare else { return false }
        return names.contains { $0.1.count >= shortestToCompare && EditDistance.between($0.1, text) <= 2 }
    }

    private static let shortestToCompare = 6
    private static let longestToCompare = 24

    /// Returns the first place from `start` on where an element of the top level begins or the root ends.
    ///
    /// - Parameter isOutside: leaves out records within a correlation: those that are indented by two spaces or more,
    ///   or stand behind something on the same line.
    static func next(_ bytes: borrowing Span<UInt8>, from start: Int, isOutside: Bool = false) -> Int? {
        var place = start
        while place < bytes.count {
            if bytes[place] == 0x3C, begins(bytes, at: place), !isOutside || !isWithin(bytes, at: place) {
                return place
            }
            place += 1
        }
        return nil
    }

    private static let rootEnd = Array("</HealthData".utf8)

    /// Whether an element of the top level begins at a place, or the root ends there.
    private static func begins(_ bytes: borrowing Span<UInt8>, at place: Int) -> Bool {
        // A closing tag with attributes has a slash too many.
        let isClosing = place + 1 < bytes.count && bytes[place + 1] == 0x2F
        let start = isClosing ? place + 2 : place + 1
        for (_, name) in names where bytes.matches(name, at: start) {
            let end = start + name.count
            guard end < bytes.count, isSpace(bytes[end]) else { continue }
            if !isClosing || end + 1 < bytes.count && ElementScanner.isName(bytes[end + 1]) { return true }
        }
        return bytes.matches(rootEnd, at: place)
    }

    private static let recordStarts = ["<Record", "</Record"].map { Array($0.utf8) }

    private static func isWithin(_ bytes: borrowing Span<UInt8>, at place: Int) -> Bool {
        guard recordStarts.contains(where: { bytes.matches($0, at: place) }) else { return false }
        var start = place
        while start > 0, bytes[start - 1] == 0x20 || bytes[start - 1] == 0x09 { start -= 1 }
        return place - start >= 2 || start > 0 && bytes[start - 1] != 0x0A
    }
}
