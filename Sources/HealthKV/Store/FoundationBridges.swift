#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import ColumnFormat
import HealthModel
import LMDB
import PageReader

extension Instant {
    /// Creates the instant of a date, rounded to the nearest nanosecond.
    public init(_ date: Date) throws(ModelError) {
        try self.init(secondsSinceReference: date.timeIntervalSinceReferenceDate)
    }

    /// The instant as a date, exact to about 100 ns. Present-day dates survive the conversion to an instant and back.
    public var date: Date { Date(timeIntervalSinceReferenceDate: secondsSinceReference) }
}

extension SampleID {
    /// Creates the id with the bytes of a UUID.
    public init(_ uuid: UUID) {
        let b = uuid.uuid
        func word(_ bytes: (UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8)) -> UInt64 {
            let upper = UInt64(bytes.0) << 56 | UInt64(bytes.1) << 48 | UInt64(bytes.2) << 40 | UInt64(bytes.3) << 32
            return upper | UInt64(bytes.4) << 24 | UInt64(bytes.5) << 16 | UInt64(bytes.6) << 8 | UInt64(bytes.7)
        }
        self.init(
            high: word((b.0, b.1, b.2, b.3, b.4, b.5, b.6, b.7)),
            low: word((b.8, b.9, b.10, b.11, b.12, b.13, b.14, b.15)))
    }

    /// The id as Foundation's UUID, with the same bytes, for HealthKit and others.
    public var uuid: UUID {
        func byte(_ index: Int) -> UInt8 {
            UInt8(truncatingIfNeeded: (index < 8 ? high : low) >> UInt64(56 - index % 8 * 8))
        }
        return UUID(
            uuid: (
                byte(0), byte(1), byte(2), byte(3), byte(4), byte(5), byte(6), byte(7), byte(8), byte(9), byte(10),
                byte(11), byte(12), byte(13), byte(14), byte(15)
            ))
    }
}

extension Sample {
    // Without the attribute, `at: .now` could mean either form, and would not compile.

    /// Creates a sample of a single instant, from a date.
    @_disfavoredOverload
    public init(
        _ type: SampleType, _ value: Double, _ unit: HealthUnit, at date: Date, source: Source = .thisApp,
        id: SampleID = SampleID(), syncIdentifier: String? = nil, isUserEntered: Bool = false,
        metadata: [String: MetadataValue] = [:], group: String? = nil
    ) throws(ModelError) {
        self.init(
            type, value, unit, at: try Instant(date), source: source, id: id, syncIdentifier: syncIdentifier,
            isUserEntered: isUserEntered, metadata: metadata, group: group)
    }

    /// Creates a sample of a single instant from a quantity and a date.
    @_disfavoredOverload
    public init(
        _ type: SampleType, _ quantity: Quantity, at date: Date, source: Source = .thisApp,
        id: SampleID = SampleID(), syncIdentifier: String? = nil, isUserEntered: Bool = false,
        metadata: [String: MetadataValue] = [:], group: String? = nil
    ) throws(ModelError) {
        self.init(
            type, quantity, at: try Instant(date), source: source, id: id, syncIdentifier: syncIdentifier,
            isUserEntered: isUserEntered, metadata: metadata, group: group)
    }

    /// Creates a sample of a span of time between two dates.
    @_disfavoredOverload
    public init(
        _ type: SampleType, _ value: Double, _ unit: HealthUnit, from start: Date, to end: Date,
        source: Source = .thisApp, id: SampleID = SampleID(), syncIdentifier: String? = nil,
        isUserEntered: Bool = false, metadata: [String: MetadataValue] = [:], group: String? = nil
    ) throws(ModelError) {
        self.init(
            type, value, unit, from: try Instant(start), to: try Instant(end), source: source, id: id,
            syncIdentifier: syncIdentifier, isUserEntered: isUserEntered, metadata: metadata, group: group)
    }
}

extension SampleStore {
    /// Opens the store in a folder. Creates it if there is none and the options allow it.
    public static func open(at folder: URL, options: Options = Options()) throws -> SampleStore {
        try open(at: folder.path, options: options)
    }

    // With the attribute, a reference to the function means the form with a path.

    /// Copies the store to a new folder while it is in use; see the form with a path.
    @_disfavoredOverload
    public func backup(to folder: URL, progress: ((Int) -> Bool)? = nil) throws {
        try backup(to: folder.path, progress: progress)
    }

    /// Copies the store without its free pages to a new folder while it is in use; see the form with a path.
    @_disfavoredOverload
    public func compact(to folder: URL, progress: ((Int) -> Bool)? = nil) throws {
        try compact(to: folder.path, progress: progress)
    }

    /// Copies the store to a new folder under another key; see the form with a path.
    @_disfavoredOverload
    public func copy(to folder: URL, sealer: (any StoreSealer)?, progress: ((Int) -> Bool)? = nil) throws {
        try copy(to: folder.path, sealer: sealer, progress: progress)
    }

    /// Puts a copy under another key in the place of a store; see the form with a path.
    @_disfavoredOverload
    public static func reseal(at folder: URL, from old: (any StoreSealer)?, to new: (any StoreSealer)?) throws {
        try reseal(at: folder.path, from: old, to: new)
    }
}

// Apps show `localizedDescription`. Without these conformances it contains only the name of the type.

extension StoreError: LocalizedError {
    /// The same as its description.
    public var errorDescription: String? { description }
}

extension ModelError: LocalizedError {
    /// The same as its description.
    public var errorDescription: String? { description }
}

extension LMDBError: LocalizedError {
    /// The same as its description.
    public var errorDescription: String? { description }
}

extension FormatError: LocalizedError {
    /// The same as its description.
    public var errorDescription: String? { description }
}

extension PageFileError: LocalizedError {
    /// The same as its description.
    public var errorDescription: String? { description }
}

extension PageFinding: LocalizedError {
    /// The same as its description.
    public var errorDescription: String? { description }
}
