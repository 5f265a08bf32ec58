extension Sample: CustomStringConvertible {
    /// Type, value, time and source.
    public var description: String {
        let value = kindText ?? "\(quantity.value) \(quantity.unit)"
        let time = start == end ? "\(start)" : isOpenEnded ? "\(start) until now" : "\(start) to \(end)"
        return "\(type) \(value), \(time), \(source.name.isEmpty ? "this app" : source.name)"
    }

    private var kindText: String? {
        type.kind == .category ? Int64(exactly: quantity.value).map { "\($0)" } : nil
    }
}
