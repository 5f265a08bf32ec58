import HealthKV

/// A part of a line that differs between lines of one shape.
enum LineToken {
    case id, start, end, value, modified, replica, syncIdentifier, group

    init?(_ field: LineField) {
        switch field {
        case .id: self = .id
        case .start: self = .start
        case .end: self = .end
        case .value: self = .value
        case .modified: self = .modified
        case .replica: self = .replica
        case .syncIdentifier: self = .syncIdentifier
        case .group: self = .group
        default: return nil
        }
    }
}

/// The shapes of lines: their bytes without the ids, dates, numbers and texts that differ from sample to sample.
///
/// A line with the shape of an earlier line, and with tokens in the plainest form, has the same meaning except for the
/// tokens. So most lines of a dump need no parsing field by field. Shapes that begin alike share nodes of a tree, so
/// that their common beginning is compared once.
struct LineShapes {
    /// The range of a token in a line.
    struct Spot {
        let token: LineToken
        let range: Range<Int>
    }

    /// What is the same for all lines of a shape.
    struct Meaning {
        /// The batch's number of the kind.
        let kind: Int
        let isCategory: Bool
        /// Whether there are extras besides what differs.
        let hasExtras: Bool
    }

    /// Bytes, and what follows them: a token, or the end of the line.
    private struct Node {
        let text: Range<Int>
        let token: LineToken?
        /// The shape that ends here; -1 if none does.
        let shape: Int
        /// The first node after the token, and the next alternative to this node; -1 if there is none.
        var child = -1
        let sibling: Int
    }

    /// Far more than the shapes of real histories need. Beyond it, shapes are learned again.
    private static let nodeLimit = 1024
    private static let textLimit = 1 << 18

    private var nodes: [Node] = []
    private var text: [UInt8] = []
    private var root = -1
    private(set) var meanings: [Meaning] = []
    private(set) var extras: [SampleBatch.Extras] = []

    /// Finds the shape of the first line of the input and the line's length, and reads its tokens. Returns `nil` if the
    /// line must be parsed.
    func shape(
        of line: Span<UInt8>, _ tokens: inout LineTokenReader, _ values: inout LineValues
    ) -> (number: Int, end: Int)? {
        let (nodes, text) = (nodes.span, text.span)
        var place = 0
        var candidate = root
        while candidate >= 0 {
            let node = nodes[candidate]
            candidate = node.sibling
            guard LineShapes.isEqual(text.extracting(node.text), line, at: place) else { continue }
            let next = place + node.text.count
            guard let token = node.token else {
                if next < line.count, line[next] == 0x0A { return (node.shape, next) }
                continue
            }
            guard let end = tokens.read(token, in: line, at: next, into: &values) else { return nil }
            place = end
            candidate = node.child
        }
        return nil
    }

    /// Remembers the shape of a line that was taken apart.
    mutating func learn(_ line: Span<UInt8>, _ spots: [Spot], _ meaning: Meaning, _ extras: SampleBatch.Extras) {
        if max(nodes.count + spots.count, meanings.count) >= LineShapes.nodeLimit
            || text.count + line.count > LineShapes.textLimit
        {
            self = LineShapes()
        }
        var place = 0
        var parent = -1
        for spot in spots {
            parent = node(line, place..<spot.range.lowerBound, spot.token, shape: -1, behind: parent)
            place = spot.range.upperBound
        }
        meanings.append(meaning)
        self.extras.append(extras)
        _ = node(line, place..<line.count, nil, shape: meanings.count - 1, behind: parent)
    }

    /// Returns the node of some bytes of a line after another node; creates it if there is none.
    private mutating func node(
        _ line: Span<UInt8>, _ range: Range<Int>, _ token: LineToken?, shape: Int, behind parent: Int
    ) -> Int {
        let first = parent < 0 ? root : nodes[parent].child
        var candidate = first
        while candidate >= 0 {
            let node = nodes[candidate]
            if node.token == token, node.text.count == range.count,
                LineShapes.isEqual(text.span.extracting(node.text), line, at: range.lowerBound)
            {
                return candidate
            }
            candidate = node.sibling
        }
        let start = text.count
        for index in range { text.append(line[index]) }
        // The newest node comes first, since a dump has one type after the other.
        nodes.append(Node(text: start..<text.count, token: token, shape: shape, sibling: first))
        if parent < 0 { root = nodes.count - 1 } else { nodes[parent].child = nodes.count - 1 }
        return nodes.count - 1
    }

    /// Compares sixteen bytes at a time, which one instruction or two can do.
    private static func isEqual(_ known: Span<UInt8>, _ line: Span<UInt8>, at place: Int) -> Bool {
        guard place + known.count <= line.count else { return false }
        var index = 0
        while index + 16 <= known.count {
            let left = known.extracting(index..<index + 16)
            let right = line.extracting(place + index..<place + index + 16)
            var difference: UInt8 = 0
            for offset in 0..<16 { difference |= left[offset] ^ right[offset] }
            if difference != 0 { return false }
            index += 16
        }
        while index < known.count {
            if known[index] != line[place + index] { return false }
            index += 1
        }
        return true
    }
}
