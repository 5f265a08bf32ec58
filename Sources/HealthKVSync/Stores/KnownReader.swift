import HealthKV
import Synchronization

/// What another store keeps about the reader under a name, in a note of its own.
struct KnownReader: EngineNote, Sendable, Equatable {
    /// One copy of a store.
    struct Replica: Codable, Sendable, Equatable {
        var store: SampleID
        var replica: UInt32

        init(_ greeting: PeerGreeting) { (store, replica) = (greeting.store, greeting.replica) }
    }

    private static let formerLimit = 64

    /// The holder of the name; `nil` if no reader has greeted yet.
    var current: Replica?
    /// Former holders of the name, which do not get it back.
    var former: [Replica] = []

    /// Returns `true` if a later copy of the same store has the name.
    func isSuperseding(_ greeting: PeerGreeting) -> Bool {
        former.contains(Replica(greeting)) && current?.store == greeting.store
    }

    func isTakenOver(by greeting: PeerGreeting) -> Bool { current.map { $0 != Replica(greeting) } ?? false }

    /// Returns the record after a greeting. A store that was restored or reinstalled replaces its former replica, which
    /// no longer exists. If the former replica greets nevertheless, two devices share a name, and the former one is
    /// refused.
    func welcoming(_ greeting: PeerGreeting, as name: PeerID) throws(PeerError) -> KnownReader {
        let new = Replica(greeting)
        guard !former.contains(new) else {
            throw PeerError(
                .nameTaken, "another device reads under the name \(name): give each device a name of its own, or none")
        }
        guard current != new else { return self }
        var next = KnownReader(current: new, former: former)
        if let current { next.former.append(current) }
        next.former = next.former.suffix(KnownReader.formerLimit)
        return next
    }

    /// Returns the record after our own engine met a peer of the name, or `nil` if that peer may have it: no other
    /// store reads under it. What one of the two brings would be taken for known to the other.
    func belonging(to peer: PeerGreeting) -> KnownReader? {
        guard let current, current.store != peer.store else { return nil }
        let owner = Replica(peer)
        let others = former.filter { $0 != owner } + [current]
        return KnownReader(current: owner, former: others.suffix(KnownReader.formerLimit))
    }
}

extension SampleReading where Self: ~Copyable {
    func reader(_ name: PeerID) throws -> KnownReader {
        EngineNotes.decode(try syncNote(EngineNotes.reader(name)), as: KnownReader.self) ?? KnownReader()
    }
}

extension WriteTransaction {
    mutating func setReader(_ reader: KnownReader, _ name: PeerID) throws {
        try setSyncNote(EngineNotes.reader(name), try EngineNotes.encode(reader))
    }
}

extension EngineNotes {
    static func reader(_ name: PeerID) -> String { "reader:\(name)" }
}
