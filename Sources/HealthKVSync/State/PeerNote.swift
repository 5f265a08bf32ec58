#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import HealthKV

/// The note that keeps a ``PeerState``: a line of JSON for the peer, and one for each type. A plan may have a hundred
/// types, and most commits change the state of one. So a line is encoded only when it changes.
struct PeerNote: Sendable {
    let state: PeerState
    let bytes: [UInt8]
    /// The lines of the types, keyed by the type's identifier.
    private let lines: [String: [UInt8]]

    /// The line of one type.
    private struct Line: EngineNote {
        let type: String
        let state: TypeState

        var isPossible: Bool { state.isPossible }
    }

    private static let separator = UInt8(ascii: "\n")

    /// The notes that were read or written last.
    static let recent = NoteCache<PeerNote>()

    /// Encodes a state. The lines of types that have not changed are taken from the note before.
    init(_ state: PeerState, after known: PeerNote?) throws {
        var peer = state
        peer.types = [:]
        var (bytes, lines) = (try EngineNotes.encode(peer), [String: [UInt8]](minimumCapacity: state.types.count))
        for (type, one) in state.types.sorted(by: { $0.key < $1.key }) {
            let kept = known?.state.types[type] == one ? known?.lines[type] : nil
            let line = try kept ?? EngineNotes.encode(Line(type: type, state: one))
            lines[type] = line
            bytes.append(PeerNote.separator)
            bytes += line
        }
        (self.state, self.bytes, self.lines) = (state, bytes, lines)
    }

    /// Decodes a note. If it is damaged, little of it is known: whether the user switched the sync on, and how much of
    /// each history the user wants.
    init(decoding bytes: [UInt8]) {
        let parts = bytes.split(separator: PeerNote.separator, omittingEmptySubsequences: false).map(Array.init)
        var lines: [String: [UInt8]] = [:]
        if var state = EngineNotes.decode(parts.first, as: PeerState.self) {
            for part in parts.dropFirst() {
                guard let line = EngineNotes.decode(part, as: Line.self) else { break }
                state.types[line.type] = line.state
                lines[line.type] = part
            }
            if lines.count == parts.count - 1 {
                (self.state, self.bytes, self.lines) = (state, bytes, lines)
                return
            }
        }
        (state, self.bytes, self.lines) = (PeerNote.remains(of: parts), bytes, [:])
    }

    private static func decode<Value: Decodable>(_ bytes: [UInt8], as type: Value.Type) -> Value? {
        try? JSONDecoder().decode(type, from: Data(bytes))
    }

    private static func remains(of parts: [[UInt8]]) -> PeerState {
        let left = parts.first.flatMap { decode($0, as: Remains.self) }
        var state = PeerState(isEnabled: left?.isEnabled ?? false, epoch: PeerState.damagedEpoch)
        for part in parts.dropFirst() {
            guard let known = decode(part, as: Histories.self) else { continue }
            let history = known.state.history
            state.types[known.type] = TypeState(history: FeedHistory(choice: history.choice, bound: history.bound))
            // The feed is read from its beginning.
            state.types[known.type]?.history.noteBeginning()
        }
        return state
    }

    /// What can be known although the rest of the first line is damaged.
    private struct Remains: Decodable {
        var isEnabled: Bool?
    }

    /// What can be known although the rest of a type's line is damaged.
    private struct Histories: Decodable {
        struct Known: Decodable {
            var history: FeedHistory
        }

        var type: String
        var state: Known
    }
}
