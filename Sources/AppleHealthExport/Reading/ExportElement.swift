/// One attribute: where its name and value stand.
struct ExportAttribute {
    var name: Range<Int>
    var value: Range<Int>
    /// Whether the value is printable ASCII without references.
    var isPlain: Bool
    /// The name that is meant, if the name in the file is damaged.
    var meant: [UInt8]?
}

/// One tag of an element, with its attributes.
struct ExportNode {
    var name: Range<Int>
    /// The attributes, as a range in ``ExportElement/attributes``.
    var attributes: Range<Int>
    /// 0 for the element itself, 1 for its children.
    var depth: Int
    /// Where the tag begins and ends.
    var tag: Range<Int>
}

/// An element at the top level of an export, with everything within it. All ranges are places in the bytes that were
/// scanned.
struct ExportElement {
    /// The element itself, and all elements within it in their order.
    var nodes: [ExportNode] = []
    var attributes: [ExportAttribute] = []
    var range = 0..<0
    /// The attribute that is named as a start and is the end.
    var secondStart: Int?
    /// Whether the element has defects that could be mended.
    var isMended = false

    mutating func removeAll() {
        nodes.removeAll(keepingCapacity: true)
        attributes.removeAll(keepingCapacity: true)
        secondStart = nil
        isMended = false
    }

    /// Returns the value of an attribute of a node.
    func attribute(_ name: [UInt8], of node: ExportNode, in bytes: borrowing Span<UInt8>) -> ExportAttribute? {
        for attribute in attributes[node.attributes] {
            if let meant = attribute.meant {
                if meant == name { return attribute }
            } else if attribute.name.count == name.count, bytes.matches(name, at: attribute.name.lowerBound) {
                return attribute
            }
        }
        return nil
    }
}
