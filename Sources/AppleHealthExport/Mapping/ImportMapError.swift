#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Why a map cannot be used, or does not fit a file.
///
/// ```swift
/// import AppleHealthExport
///
/// do {
///     _ = try ImportMap(json: Array(#"{"samples":[{"type":"bodyMass"}]}"#.utf8))
/// } catch {
///     print(error)  // samples[0].value: is missing
/// }
/// ```
public struct ImportMapError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The place in the map, such as `samples[0].unit`; empty for the map as a whole.
    public let keyPath: String
    /// What is wrong there. It never contains a value of a file, only names of its columns.
    public let problem: String

    /// Creates an error at a place in the map.
    init(_ keyPath: String, _ problem: String) {
        self.keyPath = keyPath
        self.problem = problem
    }

    public var description: String { keyPath.isEmpty ? "The map: \(problem)" : "\(keyPath): \(problem)" }
}

extension ImportMapError {
    /// Translates an error of the JSON decoder.
    init(_ error: any Error) {
        if let error = error as? ImportMapError {
            self = error
            return
        }
        guard let error = error as? DecodingError else {
            self.init("", "cannot be read")
            return
        }
        switch error {
        case .keyNotFound(let key, let context):
            self.init(ImportMapError.text(of: context.codingPath + [key]), "is missing")
        case .valueNotFound(_, let context):
            self.init(ImportMapError.text(of: context.codingPath), "is null; leave the field out instead")
        case .typeMismatch(let type, let context):
            self.init(ImportMapError.text(of: context.codingPath), "must be \(ImportMapError.words(for: type))")
        case .dataCorrupted(let context) where context.underlyingError == nil:
            self.init(ImportMapError.text(of: context.codingPath), context.debugDescription)
        case .dataCorrupted: self.init("", "is not valid JSON")
        @unknown default: self.init("", "cannot be read")
        }
    }

    /// Returns a path as one writes it: `samples[0].unit`.
    static func text(of path: [any CodingKey]) -> String {
        var text = ""
        for key in path {
            if let index = key.intValue {
                text += "[\(index)]"
            } else {
                text += (text.isEmpty ? "" : ".") + key.stringValue
            }
        }
        return text
    }

    private static func words(for type: any Any.Type) -> String {
        switch type {
        case is String.Type: "a text"
        case is Bool.Type: "true or false"
        case is Int.Type: "a whole number"
        case is Double.Type: "a number"
        case is [Any].Type: "a list"
        default: "an object"
        }
    }
}

extension ImportMapError: LocalizedError {
    /// The description.
    public var errorDescription: String? { description }
}
