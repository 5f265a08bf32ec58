/// The writer of a sample: an app or device, by bundle identifier and name, with the revision that wrote it.
///
/// Sources with a bundle are the same source if their bundles are equal. Their name may change with the language, so it
/// is part of the revision, like version, product and system. Sources without a bundle are the same if their names are
/// equal. See ``identity``.
public struct Source: Hashable, Sendable {
    /// The fields are in one place for all copies: many samples have the same source, and to copy one counts one
    /// reference instead of five.
    private var shared: Shared

    private struct Fields: Sendable, Hashable {
        var bundle: String
        var name: String
        var version: String?
        var product: String?
        var system: String?
    }

    private final class Shared: Sendable {
        let fields: Fields

        init(_ fields: Fields) { self.fields = fields }
    }

    private var fields: Fields {
        get { shared.fields }
        set { shared = Shared(newValue) }
    }

    /// The bundle identifier; empty if unknown (an export contains names only).
    public var bundle: String {
        get { shared.fields.bundle }
        set { fields.bundle = newValue }
    }

    /// The display name of the app or the device.
    public var name: String {
        get { shared.fields.name }
        set { fields.name = newValue }
    }

    /// The version of the app that wrote the sample.
    public var version: String? {
        get { shared.fields.version }
        set { fields.version = newValue }
    }

    /// The product type of the device, such as `iPhone17,1`.
    public var product: String? {
        get { shared.fields.product }
        set { fields.product = newValue }
    }

    /// The version of the operating system.
    public var system: String? {
        get { shared.fields.system }
        set { fields.system = newValue }
    }

    /// Creates a source; leave unknown fields out.
    public init(
        bundle: String = "", name: String, version: String? = nil, product: String? = nil, system: String? = nil
    ) {
        shared = Shared(Fields(bundle: bundle, name: name, version: version, product: product, system: system))
    }

    /// Compares texts byte by byte, as on disk: composed and decomposed letters differ.
    public static func == (left: Source, right: Source) -> Bool {
        if left.shared === right.shared { return true }
        let (left, right) = (left.shared.fields, right.shared.fields)
        return isSameText(left.bundle, right.bundle) && isSameText(left.name, right.name)
            && isSameText(left.version, right.version) && isSameText(left.product, right.product)
            && isSameText(left.system, right.system)
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(shared.fields) }

    /// A placeholder for the app that links the store: saving replaces it with the source with which the store was
    /// opened.
    public static let thisApp = Source(bundle: "", name: "")

    /// The part that is the same in all revisions.
    public var identity: SourceIdentity { SourceIdentity(bundle: bundle, name: name) }
}

/// The key of a source: the bundle, or the name if there is no bundle.
public struct SourceIdentity: Hashable, Sendable, Codable, Comparable {
    /// The bundle identifier; empty if unknown.
    public var bundle: String
    /// The display name. If there is a bundle, it is one of the names that the source has had.
    public var name: String

    /// Creates the identity of a source.
    public init(bundle: String = "", name: String) {
        self.bundle = bundle
        self.name = name
    }

    /// The text that comparisons use.
    private var text: String { bundle.isEmpty ? name : bundle }

    /// Compares byte by byte, as on disk: composed and decomposed letters differ.
    public static func == (left: SourceIdentity, right: SourceIdentity) -> Bool {
        left.bundle.isEmpty == right.bundle.isEmpty && isSameText(left.text, right.text)
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(text) }

    /// Orders by bundle, or by name if there is no bundle, in byte order.
    public static func < (left: SourceIdentity, right: SourceIdentity) -> Bool {
        if !isSameText(left.text, right.text) { return left.text.utf8.lexicographicallyPrecedes(right.text.utf8) }
        return left.bundle.isEmpty && !right.bundle.isEmpty
    }

    /// Returns `true` if both are one app, or an app and its extension: the bundle of an extension begins with the
    /// bundle of its app.
    public func isSameApp(as other: SourceIdentity) -> Bool {
        self == other || isExtension(of: other) || other.isExtension(of: self)
    }

    /// Returns `true` if this is an extension of an app.
    public func isExtension(of app: SourceIdentity) -> Bool {
        !app.bundle.isEmpty && bundle.hasPrefix(app.bundle + ".")
    }
}

/// The hardware that measured a sample, as HealthKit describes it. Every field may be missing.
public struct Device: Hashable, Sendable, Codable {
    /// The fields are in one place for all copies: many samples have the same device.
    private var shared: Shared

    private struct Fields: Sendable, Hashable, Codable {
        var name: String?
        var manufacturer: String?
        var model: String?
        var hardwareVersion: String?
        var firmwareVersion: String?
        var softwareVersion: String?
        var localIdentifier: String?
        var udiDeviceIdentifier: String?
    }

    private final class Shared: Sendable {
        let fields: Fields

        init(_ fields: Fields) { self.fields = fields }
    }

    private var content: Fields {
        get { shared.fields }
        set { shared = Shared(newValue) }
    }

    /// The name that the owner gave the device.
    public var name: String? {
        get { shared.fields.name }
        set { content.name = newValue }
    }

    /// The manufacturer.
    public var manufacturer: String? {
        get { shared.fields.manufacturer }
        set { content.manufacturer = newValue }
    }

    /// The model, such as `Watch`.
    public var model: String? {
        get { shared.fields.model }
        set { content.model = newValue }
    }

    /// The version of the hardware.
    public var hardwareVersion: String? {
        get { shared.fields.hardwareVersion }
        set { content.hardwareVersion = newValue }
    }

    /// The version of its firmware.
    public var firmwareVersion: String? {
        get { shared.fields.firmwareVersion }
        set { content.firmwareVersion = newValue }
    }

    /// The version of its software.
    public var softwareVersion: String? {
        get { shared.fields.softwareVersion }
        set { content.softwareVersion = newValue }
    }

    /// Identifies the device on the machine that received its data.
    public var localIdentifier: String? {
        get { shared.fields.localIdentifier }
        set { content.localIdentifier = newValue }
    }

    /// The device identifier part of its UDI, for medical devices.
    public var udiDeviceIdentifier: String? {
        get { shared.fields.udiDeviceIdentifier }
        set { content.udiDeviceIdentifier = newValue }
    }

    /// Creates a device; leave unknown fields out.
    public init(
        name: String? = nil, manufacturer: String? = nil, model: String? = nil, hardwareVersion: String? = nil,
        firmwareVersion: String? = nil, softwareVersion: String? = nil, localIdentifier: String? = nil,
        udiDeviceIdentifier: String? = nil
    ) {
        shared = Shared(
            Fields(
                name: name, manufacturer: manufacturer, model: model, hardwareVersion: hardwareVersion,
                firmwareVersion: firmwareVersion, softwareVersion: softwareVersion, localIdentifier: localIdentifier,
                udiDeviceIdentifier: udiDeviceIdentifier))
    }

    public init(from decoder: any Decoder) throws { shared = Shared(try Fields(from: decoder)) }

    public func encode(to encoder: any Encoder) throws { try shared.fields.encode(to: encoder) }

    /// Compares texts byte by byte, as on disk: composed and decomposed letters differ.
    public static func == (left: Device, right: Device) -> Bool {
        left.shared === right.shared || zip(left.fields, right.fields).allSatisfy { isSameText($0, $1) }
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(shared.fields) }

    /// The fields in their order on disk.
    public var fields: [String?] {
        [
            name, manufacturer, model, hardwareVersion, firmwareVersion, softwareVersion, localIdentifier,
            udiDeviceIdentifier,
        ]
    }

    /// Creates a device from fields in their order on disk; missing fields are absent.
    public init(fields: [String?]) {
        func field(_ index: Int) -> String? { index < fields.count ? fields[index] : nil }
        self.init(
            name: field(0), manufacturer: field(1), model: field(2), hardwareVersion: field(3),
            firmwareVersion: field(4), softwareVersion: field(5), localIdentifier: field(6),
            udiDeviceIdentifier: field(7))
    }
}

extension Source: CustomStringConvertible {
    /// Name, bundle and revision, as far as they are known.
    public var description: String {
        let known = [("bundle", bundle.isEmpty ? nil : bundle), ("version", version), ("product", product)]
        return name + known.compactMap { key, text in text.map { ", \(key) \($0)" } }.joined()
            + (system.map { ", system \($0)" } ?? "")
    }
}

extension Device: CustomStringConvertible {
    /// The fields that are known.
    public var description: String { fields.compactMap(\.self).joined(separator: ", ") }
}
