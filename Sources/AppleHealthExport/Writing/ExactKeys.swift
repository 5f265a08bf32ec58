import HealthModel

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The metadata by which an exact export carries what Apple's format has no place for.
enum ExactKeys {
    /// Holds the whole sample as JSON.
    static let sample = "HealthKVSample"

    static func sample(of text: String) -> Sample? {
        try? JSONDecoder().decode(Sample.self, from: Data(text.utf8))
    }
}
