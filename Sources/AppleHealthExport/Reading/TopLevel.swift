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

    private static let names: [(TopLevel, [UInt8])] = allCases.map { ($0, Array($0.rawValue.utf8)) }

    /// Returns the element with a name.
    static func name(_ bytes: borrowing Span<UInt8>, _ range: Range<Int>) -> TopLevel? {
        for (element, name) in names where name.count == range.count && bytes.matches(name, at: range.lowerBound) {
            return element
        }
        return nil
    }

    /// Returns the first place from `start` on where an element of the top level begins or the root ends.
    ///
    /// - Parameter isOutside: leaves out records that are indented by two spaces or more: those within a correlation.
    static func next(_ bytes: borrowing Span<UInt8>, from start: Int, isOutside: Bool = false) -> Int? {
        var place = start
        while place < bytes.count {
            if bytes[place] == 0x3C, begins(bytes, at: place), !isOutside || !isIndented(bytes, at: place) {
                return place
            }
            place += 1
        }
        return nil
    }

    private static let rootEnd = Array("</HealthData".utf8)

    /// Whether an element of the top level begins at a place, or the root ends there.
    private static func begins(_ bytes: borrowing Span<UInt8>, at place: Int) -> Bool {
        for (_, name) in names where bytes.matches(name, at: place + 1) {
            let end = place + 1 + name.count
            if end < bytes.count, isSpace(bytes[end]) { return true }
        }
        return bytes.matches(rootEnd, at: place)
    }

    private static func isIndented(_ bytes: borrowing Span<UInt8>, at place: Int) -> Bool {
        place >= 2 && bytes[place - 1] == 0x20 && bytes[place - 2] == 0x20
    }
}
