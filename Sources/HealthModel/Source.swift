/// Who wrote a sample: an app or device, by bundle identifier and name, with the revision that wrote it.
///
/// Two sources with a bundle are the same when their bundles are: the name, which may change with the language, is part of the revision as
/// version, product and system are. Without a bundle the name decides. ``identity`` tells it.
public struct Source: Hashable, Sendable {
    /// The bundle identifier; empty where none is known (an export gives names only).
    public var bundle: String
    /// The name that people see: of the app or the device.
    public var name: String
    /// Version of the app that wrote the sample.
    public var version: String?
    /// Product type of the device, such as `iPhone17,1`.
    public var product: String?
    /// Version of the operating system.
    public var system: String?

    /// A source; what is not known is left out.
    public init(
        bundle: String = "", name: String, version: String? = nil, product: String? = nil, system: String? = nil
    ) {
        self.bundle = bundle
        self.name = name
        self.version = version
        self.product = product
        self.system = system
    }

    /// Texts are compared byte by byte, as on disk: composed and decomposed letters differ.
    public static func == (left: Source, right: Source) -> Bool {
        isSameText(left.bundle, right.bundle) && isSameText(left.name, right.name)
            && isSameText(left.version, right.version) && isSameText(left.product, right.product)
            && isSameText(left.system, right.system)
    }

    /// Stands for the app that links the store: saving replaces it with the source that the store was opened with.
    public static let thisApp = Source(bundle: "", name: "")

    /// What stays the same in all revisions.
    public var identity: SourceIdentity { SourceIdentity(bundle: bundle, name: name) }
}

/// What tells one source from another: the bundle, or the name where there is none.
public struct SourceIdentity: Hashable, Sendable, Codable, Comparable {
    /// The bundle identifier; empty where none is known.
    public var bundle: String
    /// The name that people see. Where there is a bundle it is one that the source had.
    public var name: String

    /// The identity of a source.
    public init(bundle: String = "", name: String) {
        self.bundle = bundle
        self.name = name
    }

    /// The text that decides.
    private var text: String { bundle.isEmpty ? name : bundle }

    /// Byte by byte, as on disk: composed and decomposed letters differ.
    public static func == (left: SourceIdentity, right: SourceIdentity) -> Bool {
        left.bundle.isEmpty == right.bundle.isEmpty && isSameText(left.text, right.text)
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(text) }

    /// By bundle, or by name where there is none, in the order of their bytes.
    public static func < (left: SourceIdentity, right: SourceIdentity) -> Bool {
        if !isSameText(left.text, right.text) { return left.text.utf8.lexicographicallyPrecedes(right.text.utf8) }
        return left.bundle.isEmpty && !right.bundle.isEmpty
    }

    /// Whether both are one app, or an app and an extension of it: the bundle of an extension begins with that of its app.
    public func isSameApp(as other: SourceIdentity) -> Bool {
        self == other || isExtension(of: other) || other.isExtension(of: self)
    }

    /// Whether this is an extension of an app.
    public func isExtension(of app: SourceIdentity) -> Bool {
        !app.bundle.isEmpty && bundle.hasPrefix(app.bundle + ".")
    }
}

/// The hardware that measured a sample, as HealthKit describes it. Every field may be missing.
public struct Device: Hashable, Sendable, Codable {
    /// The name that its owner gave it.
    public var name: String?
    /// Who made it.
    public var manufacturer: String?
    /// The model, such as `Watch`.
    public var model: String?
    /// The version of the hardware.
    public var hardwareVersion: String?
    /// The version of its firmware.
    public var firmwareVersion: String?
    /// The version of its software.
    public var softwareVersion: String?
    /// Names the device on the machine that received its data.
    public var localIdentifier: String?
    /// The device identifier part of its UDI, for medical devices.
    public var udiDeviceIdentifier: String?

    /// A device; what is not known is left out.
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

    /// Texts are compared byte by byte, as on disk: composed and decomposed letters differ.
    public static func == (left: Device, right: Device) -> Bool {
        zip(left.fields, right.fields).allSatisfy { isSameText($0, $1) }
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
