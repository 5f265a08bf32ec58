import HealthModel

/// Devices as exports describe them: `<<HKDevice: 0x281da8af0>, name:Apple Watch, manufacturer:Apple Inc., …>`.
enum ExportDevice {
    private static let fields: [(String, WritableKeyPath<Device, String?> & Sendable)] = [
        ("name", \.name), ("manufacturer", \.manufacturer), ("model", \.model), ("hardware", \.hardwareVersion),
        ("firmware", \.firmwareVersion), ("software", \.softwareVersion), ("localIdentifier", \.localIdentifier),
        ("UDIDeviceIdentifier", \.udiDeviceIdentifier),
    ]

    /// Returns the device; `nil` if the text names nothing of it. The address in it is that of a process and tells
    /// nothing.
    static func read(_ text: String) -> Device? {
        var body = Substring(text)
        if body.hasPrefix("<<"), let end = body.firstIndex(of: ">") { body = body[body.index(after: end)...] }
        if body.hasSuffix(">") { body = body.dropLast() }
        var device = Device()
        var field: (WritableKeyPath<Device, String?> & Sendable)?
        var isEmpty = true
        var isIgnored = false
        // Values may hold commas: one goes on until a part begins with a name.
        for part in body.split(separator: ", ", omittingEmptySubsequences: false) {
            if let colon = part.firstIndex(of: ":"),
                let found = fields.first(where: { $0.0 == part[..<colon].drop(while: { $0 == "," || $0 == " " }) })
            {
                field = found.1
                isIgnored = false
                device[keyPath: found.1] = String(part[part.index(after: colon)...])
                isEmpty = false
            } else if part.hasPrefix("creation date:") {
                // It tells when the phone first saw the device.
                isIgnored = true
            } else if !isIgnored, let field, let value = device[keyPath: field] {
                device[keyPath: field] = value + ", " + part
            }
        }
        return isEmpty ? nil : device
    }

    /// Describes a device.
    static func text(of device: Device) -> String {
        var text = "<<HKDevice: 0x0>"
        for (name, path) in fields { if let value = device[keyPath: path] { text += ", \(name):\(value)" } }
        return text + ">"
    }
}
