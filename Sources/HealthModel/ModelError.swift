/// Why the model refuses a value. No case carries a health value.
public enum ModelError: Error, Hashable, Sendable {
    /// An instant outside 1710 to 2290.
    case instantOutOfRange
    /// A text that is not a date.
    case malformedDate
    /// A text that is not a calendar day `YYYY-MM-DD`.
    case malformedDay(field: String)
    /// A name that is not a time zone.
    case unknownTimeZone
    /// The start is after the end.
    case startAfterEnd
    /// A conversion between units of different dimensions.
    case incompatibleUnits(from: String, to: String)
    /// A text that is not a unit in HealthKit's grammar.
    case unknownUnit(String)
    /// A text that is not a UUID.
    case malformedIdentifier
    /// The UUID of all zeros, which no sample has.
    case zeroIdentifier
    /// A number that is infinite or NaN, as entered or in the unit of its type.
    case notFinite(field: String)
    /// A type whose name differs from a known name only in letter case and blanks.
    case misspelledType(String, known: String)
    /// A definition of a type that cannot be stored, with the reason.
    case unsuitableDefinition(String)
    /// A value outside the range that its type was defined with. The range is no health value.
    case outsideRange(type: String, range: String)
    /// A text that is longer than the format can hold (65,535 bytes), or empty where it must not be.
    case malformedText(field: String)
    /// A count or version outside what the format can hold.
    case numberOutOfRange(field: String)
    /// A workout with an unknown end and no duration so far.
    case durationMissing
    /// A name that is not a kind of workout.
    case unknownActivity
    /// A field that samples of this kind or origin cannot have.
    case misplacedField(String)
    /// A text that is not a filter of samples, at the position of a letter, counted from 1.
    case malformedFilter(position: Int, expected: String)
    /// Columns of a batch with different lengths, or an index outside its dictionary.
    case malformedBatch(String)
}

extension ModelError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .instantOutOfRange: "The instant lies outside 1710 to 2290. Pass a date within that range."
        case .startAfterEnd: "The sample's start lies after its end. Exchange the two dates."
        case .incompatibleUnits(let from, let to):
            "A quantity in \(from) cannot be converted to \(to). Use a unit of the same dimension."
        case .unknownUnit(let unit):
            "The unit \"\(unit)\" is not known. Write it as HealthKit does, such as kg, mg/dL or count/min."
        case .malformedIdentifier:
            "The text is no UUID. One has 32 hexadecimal digits in groups of 8-4-4-4-12, not all of them zero."
        case .zeroIdentifier:
            "The id is the UUID of all zeros, which no sample has. Leave it out, and the sample gets one of its own."
        case .notFinite(let field):
            "The number of \(field) is not finite. Leave the sample out, or correct what computed it."
        case .misspelledType(let name, let known):
            "There is no type \"\(name)\". Write \"\(known)\", or choose a name that is not nearly the same."
        case .unsuitableDefinition(let reason): "The definition of the type cannot be stored: \(reason)."
        case .outsideRange(let type, let range):
            "The value lies outside the range of \(type): \(range). Correct it, or define the type with a wider range."
        case .malformedDate:
            "The text is no date. Write it as 2024-05-31T08:00:00.5Z, with at most nine decimals."
        case .malformedDay(let field): "The text of \(field) is no day of the calendar. Write it as 2024-05-31."
        case .unknownTimeZone: "The time zone is not known. Write a name such as Europe/Berlin or UTC."
        case .durationMissing: "A workout whose end is not known needs a duration. Pass how long it has lasted."
        case .unknownActivity: "The kind of workout is not known. Write a name such as running, or HealthKit's number."
        case .malformedText(let field): "The text of \(field) is empty or longer than 65,535 bytes of UTF-8."
        case .numberOutOfRange(let field):
            "The number of \(field) is out of range\(ModelError.bounds(of: field).map { ": \($0)" } ?? "")."
        case .misplacedField(let field): "A sample of this kind or origin has no \(field)."
        case .malformedFilter(let position, let expected):
            "The filter is not understood at letter \(position), where this is expected: \(expected)."
        case .malformedBatch(let what): "The batch is not consistent: \(what)."
        }
    }
}

extension ModelError {
    /// Returns the bounds of a number, by the name of its field.
    private static func bounds(of field: String) -> String? {
        switch field {
        case "version": "0 to \(grouped(Sample.versionLimit - 1))"
        case "original version", "reversion version": "1 to \(grouped(Sample.versionLimit - 1))"
        case "count": "1 to \(grouped(Int64(Int32.max)))"
        case "multiplicity": "0 to \(grouped(Int64(Int32.max)))"
        case "metadata entries": "255 at most"
        case "metadata bytes": "\(grouped(Int64(Sample.metadataLimit))) at most, keys and texts together"
        case "parts of a workout": "\(grouped(Int64(Sample.workoutPartLimit))) at most"
        case "points of a route": "\(grouped(Int64(WorkoutRoute.pointLimit))) at most"
        case "latitude": "-90 to 90 degrees"
        case "longitude": "-180 to 180 degrees"
        case "category value": "a whole number of 32 bits"
        default: nil
        }
    }

    /// Formats a number with a comma between groups of three digits.
    private static func grouped(_ number: Int64) -> String {
        var text = ""
        for (index, digit) in String(number).reversed().enumerated() {
            if index > 0, index % 3 == 0 { text.append(",") }
            text.append(digit)
        }
        return String(text.reversed())
    }
}
