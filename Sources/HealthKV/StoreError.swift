import ColumnFormat
import HealthModel
import LMDB

/// What went wrong in a store. No error carries a health value.
///
/// ```swift
/// do {
///     let store = try SampleStore.open(at: folder)
/// } catch let error as StoreError where error.code == .noStore {
///     print(error)          // names the folder and says what to do
/// }
/// ```
public struct StoreError: Error, Sendable {
    /// What happened. Raw values are stable; codes may be added.
    public struct Code: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// There is no store in the folder, and none was to be made.
        public static let noStore = Code(rawValue: "noStore")
        /// The folder holds something that is no store.
        public static let notAStore = Code(rawValue: "notAStore")
        /// The store was written by a newer release.
        public static let newerFormat = Code(rawValue: "newerFormat")
        /// Bytes in the store do not say what they should.
        public static let damaged = Code(rawValue: "damaged")
        /// The store is closed.
        public static let closed = Code(rawValue: "closed")
        /// `write` was called inside `write`, or `close` inside `read` or `write`.
        public static let nested = Code(rawValue: "nested")
        /// The store was opened for reading only.
        public static let readOnly = Code(rawValue: "readOnly")
        /// A sample or batch that the model refuses.
        public static let invalidSample = Code(rawValue: "invalidSample")
        /// The change token is older than what the store still knows, or belongs to another store.
        public static let tokenExpired = Code(rawValue: "tokenExpired")
        /// The map cannot grow to hold what was to be written.
        public static let full = Code(rawValue: "full")
        /// LMDB or the system failed; `underlying` tells how.
        public static let storage = Code(rawValue: "storage")
        /// Units of a type cannot be brought to one.
        public static let mixedUnits = Code(rawValue: "mixedUnits")
        /// A folder that should be empty holds a store.
        public static let exists = Code(rawValue: "exists")
        /// A failed commit left the outcome unknown: reopen and look before writing again.
        public static let poisoned = Code(rawValue: "poisoned")
    }

    public let code: Code
    /// The folder of the store.
    public let path: String
    /// What exactly, without any health value.
    public let detail: String
    public let underlying: (any Error)?

    public init(_ code: Code, path: String, _ detail: String, underlying: (any Error)? = nil) {
        self.code = code
        self.path = path
        self.detail = detail
        self.underlying = underlying
    }
}

extension StoreError: CustomStringConvertible {
    public var description: String {
        var text = "\(path): \(detail)"
        if let underlying { text += " (\(underlying))" }
        return "\(text). \(advice)"
    }

    private var advice: String {
        switch code {
        case .noStore: "Check the path, or allow the store to be created."
        case .notAStore: "Choose an empty folder or one that holds a store."
        case .newerFormat: "Update the software that reads it."
        case .damaged: "Run `kvinspect check` on the folder; keep a copy of it before anything else."
        case .closed: "Open the store again."
        case .nested: "Finish the outer call first, and use its transaction inside."
        case .readOnly: "Open the store without the read-only option."
        case .invalidSample: "Correct what is named; nothing was stored."
        case .tokenExpired: "Read all samples once and continue from the current token."
        case .full: "Free space, or open the store with a greater map size. Nothing was stored."
        case .mixedUnits: "Read whole samples instead of columns."
        case .exists: "Choose a folder without a store."
        case .poisoned: "Close the store, open it again and check what was stored."
        default: "The store is unchanged."
        }
    }
}

extension StoreError {
    /// Any error of the layers below as an error of the store.
    static func wrap(_ error: any Error, path: String) -> any Error {
        switch error {
        case let error as FormatError:
            return StoreError(.damaged, path: path, "The store is damaged", underlying: error)
        case let error as ModelError:
            return StoreError(.invalidSample, path: path, "A sample was refused", underlying: error)
        case let error as LMDBError:
            switch error.code {
            case .mapFull: return StoreError(.full, path: path, "The store is full", underlying: error)
            case .corrupted, .pageNotFound, .invalid:
                return StoreError(.damaged, path: path, "The store is damaged", underlying: error)
            case .closed: return StoreError(.closed, path: path, "The store is closed", underlying: error)
            default: return StoreError(.storage, path: path, "The storage failed", underlying: error)
            }
        default: return error
        }
    }
}
