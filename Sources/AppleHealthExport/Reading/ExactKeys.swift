import HealthModel

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The names under which a sample carries what its fields have no place for.
enum ExactKeys {
    /// The beats of a heart rate series among the local data of a sample: rate and time of each, as they stand in the
    /// file.
    static let beats = "InstantaneousBeatsPerMinute"

    /// Elements within a record that no field of a sample stands for, among its local data, as they stand in the file.
    static let elements = "HealthDataElements"

    /// The name of a category's case, or of a workout's activity, that the catalog does not know, among the local data
    /// of a sample.
    static let value = "HealthDataValue"

    // What an exact export carries beyond Apple's format.

    /// Holds the whole sample as JSON.
    static let sample = "HealthKVSample"

    /// Reads a sample; `nil` if it is none that a store holds.
    static func sample(of text: String) -> Sample? {
        guard let sample = try? JSONDecoder().decode(Sample.self, from: Data(text.utf8)),
            (try? sample.validate()) != nil
        else { return nil }
        return sample
    }

    static func text(of sample: Sample) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let text = String(decoding: try encoder.encode(sample), as: UTF8.self)
        // XML has no place for these two, and JSON has another way to write them.
        guard text.unicodeScalars.contains(where: isForeign) else { return text }
        return text.unicodeScalars.reduce(into: "") { whole, scalar in
            if isForeign(scalar) {
                whole += "\\u" + String(scalar.value, radix: 16)
            } else {
                whole.unicodeScalars.append(scalar)
            }
        }
    }

    private static func isForeign(_ scalar: Unicode.Scalar) -> Bool { scalar.value == 0xFFFE || scalar.value == 0xFFFF }
}
