import Foundation

extension HKError: LocalizedError, CustomStringConvertible {
    public var description: String { "\(code): \(what)" }
    /// The same as its description.
    public var errorDescription: String? { description }
}
