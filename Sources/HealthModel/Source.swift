/// Who wrote a sample: an app or device, by bundle identifier and name, with the revision that wrote it.
///
/// Two sources are the same when bundle and name are; version, product and system are a revision of it.
public struct Source: Hashable, Sendable, Codable {
    /// The bundle identifier; empty where none is known (an export gives names only).
    public var bundle: String
    public var name: String
    /// Version of the app that wrote the sample.
    public var version: String?
    /// Product type of the device, such as `iPhone17,1`.
    public var product: String?
    /// Version of the operating system.
    public var system: String?

    public init(
        bundle: String = "", name: String, version: String? = nil, product: String? = nil, system: String? = nil
    ) {
        self.bundle = bundle
        self.name = name
        self.version = version
        self.product = product
        self.system = system
    }

    /// Stands for the app that links the store: saving replaces it with the source that the store was opened with.
    public static let thisApp = Source(bundle: "", name: "")

    /// Bundle and name without the revision.
    public var identity: SourceIdentity { SourceIdentity(bundle: bundle, name: name) }
}

/// What tells one source from another.
public struct SourceIdentity: Hashable, Sendable, Codable, Comparable {
    public var bundle: String
    public var name: String

    public init(bundle: String = "", name: String) {
        self.bundle = bundle
        self.name = name
    }

    public static func < (left: SourceIdentity, right: SourceIdentity) -> Bool {
        left.name != right.name ? left.name < right.name : left.bundle < right.bundle
    }
}

/// The hardware that measured a sample, as HealthKit describes it. Every field may be missing.
public struct Device: Hashable, Sendable, Codable {
    public var name: String?
    public var manufacturer: String?
    public var model: String?
    public var hardwareVersion: String?
    public var firmwareVersion: String?
    public var softwareVersion: String?
    public var localIdentifier: String?
    public var udiDeviceIdentifier: String?

    public init(
        name: String? = nil, manufacturer: String? = nil, model: String? = nil, hardwareVersion: String? = nil,
        firmwareVersion: String? = nil, softwareVersion: String? = nil, localIdentifier: String? = nil,
        udiDeviceIdentifier: String? = nil
    ) {
        self.name = name
        self.manufacturer = manufacturer
        self.model = model
        self.hardwareVersion = hardwareVersion
        self.firmwareVersion = firmwareVersion
        self.softwareVersion = softwareVersion
        self.localIdentifier = localIdentifier
        self.udiDeviceIdentifier = udiDeviceIdentifier
    }

    /// The fields in their order on disk.
    public var fields: [String?] {
        [
            name, manufacturer, model, hardwareVersion, firmwareVersion, softwareVersion, localIdentifier,
            udiDeviceIdentifier,
        ]
    }

    /// A device from fields in their order on disk; missing ones count as absent.
    public init(fields: [String?]) {
        func field(_ index: Int) -> String? { index < fields.count ? fields[index] : nil }
        self.init(
            name: field(0), manufacturer: field(1), model: field(2), hardwareVersion: field(3),
            firmwareVersion: field(4), softwareVersion: field(5), localIdentifier: field(6),
            udiDeviceIdentifier: field(7))
    }
}
