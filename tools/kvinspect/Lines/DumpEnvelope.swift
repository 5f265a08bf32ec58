#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Makes lines of what `dump --format json` wrote: one object with the lines in a list. Any other input stays as it is.
struct DumpEnvelope {
    private enum State {
        /// At the beginning of the input.
        case beginning
        /// The input has lines.
        case lines
        /// In the list, inside so many brackets; perhaps in a text, perhaps behind a backslash.
        case list(depth: Int, isText: Bool, isEscaped: Bool)
        /// Behind the list.
        case end
    }

    private static let start = Array("{\"kvinspect\":".utf8)
    private static let verb = Array(",\"verb\":\"dump\",\"lines\":[".utf8)
    /// Longer than any beginning of a dump.
    private static let longest = 64

    private var state = State.beginning
    /// The first bytes, until they tell what the input is.
    private var head: [UInt8] = []

    /// Appends a piece of the input to a buffer of lines. An empty piece is the end.
    mutating func open(_ piece: Data, into buffer: inout [UInt8]) throws {
        switch state {
        case .lines: buffer.append(contentsOf: piece)
        case .end: break
        case .list: try openList(piece, into: &buffer)
        case .beginning:
            head += piece
            guard piece.isEmpty || head.count >= DumpEnvelope.longest else { return }
            let first = head
            head = []
            if let length = DumpEnvelope.length(ofHead: first) {
                state = .list(depth: 0, isText: false, isEscaped: false)
                try openList(Data(first[length...]), into: &buffer)
                if piece.isEmpty { try openList(piece, into: &buffer) }
            } else {
                state = .lines
                buffer += first
            }
        }
    }

    /// Returns the length of what precedes the list of a dump; `nil` if the bytes begin otherwise.
    private static func length(ofHead bytes: [UInt8]) -> Int? {
        guard bytes.starts(with: start) else { return nil }
        let digits = bytes[start.count...].prefix { (0x30...0x39).contains($0) }
        guard !digits.isEmpty, bytes[digits.endIndex...].starts(with: verb) else { return nil }
        return digits.endIndex + verb.count
    }

    /// Puts each member of the list on a line.
    private mutating func openList(_ piece: Data, into buffer: inout [UInt8]) throws {
        guard case .list(var depth, var isText, var isEscaped) = state else { return }
        if piece.isEmpty { throw Failure("The input ends in the middle of a dump: the rest of it is missing.") }
        buffer.reserveCapacity(buffer.count + piece.count)
        for byte in piece {
            if isText {
                if isEscaped {
                    isEscaped = false
                } else if byte == 0x5C {
                    isEscaped = true
                } else {
                    isText = byte != 0x22
                }
            } else {
                switch byte {
                case 0x22: isText = true
                case 0x5B, 0x7B: depth += 1
                case 0x5D where depth == 0:
                    buffer.append(0x0A)
                    state = .end
                    return
                case 0x5D, 0x7D: depth -= 1
                case 0x2C where depth == 0:
                    buffer.append(0x0A)
                    continue
                default: break
                }
            }
            buffer.append(byte)
        }
        state = .list(depth: depth, isText: isText, isEscaped: isEscaped)
    }
}
