/// The fields that a line may have. Other fields are refused, so that a misspelled field is not silently lost.
enum LineField: Int, CaseIterable {
    case id, type, start, end, value, unit, source, syncIdentifier, syncVersion, modified, replica, origin, userEntered
    case shadowed, count, multiplicity, device, metadata, group, timeZone, local, workout, route
    case original, reversion
    /// The name of a category's value, which `scan` prints beside the value itself.
    case `case`
    /// What concerns the whole dump: on its first line, or alone on a line.
    case dump
    /// Sync state, alone on a line.
    case state

    /// Every name, by number of the field.
    static let names = allCases.map { "\($0)" }
    static let nameBytes = names.map { Array($0.utf8) }

    var name: String { LineField.names[rawValue] }
}

/// Finds the fields of a line by name, and tries the order of the previous line first.
struct LineFieldFinder {
    private var order: [LineField] = []

    /// Returns the field of a key, the `index`-th of its line; `nil` if the name is unknown.
    mutating func field(_ key: Span<UInt8>, at index: Int) -> LineField? {
        if index < order.count, LineFieldFinder.isName(key, of: order[index]) { return order[index] }
        let found = LineField.allCases.first { LineFieldFinder.isName(key, of: $0) }
        if let found {
            order.removeSubrange(min(index, order.count)...)
            order.append(found)
        }
        return found
    }

    private static func isName(_ key: Span<UInt8>, of field: LineField) -> Bool {
        let name = LineField.nameBytes[field.rawValue]
        guard key.count == name.count else { return false }
        for index in name.indices where key[index] != name[index] { return false }
        return true
    }
}
