import HealthKV

/// Sync state that `load` takes from a dump.
enum StateEntry: Sendable {
    case deleted(DeletedSample)
    case peer(RegisteredPeer)
    case purged(SampleType, SourceIdentity, latest: Instant?)
    case anchor(Anchor)
    case pending(PendingOperation)
    case link(PeerLink)
    case total(DailyTotal)
    case audit(event: String, sample: SampleID, displaced: [UInt8], time: Instant?)
    case note(name: String, bytes: [UInt8])
    case content(Sample, deleted: Instant)
    case importPosition(job: String, batches: Int)

    /// The order of storing: deletions, then the peers that would otherwise have to be told of them, then the state of
    /// peers.
    var rank: Int {
        switch self {
        case .deleted: 0
        case .peer: 1
        default: 2
        }
    }
}

extension JSONScanner {
    /// Reads sync state. Returns `nil` for removed ranges, which are skipped.
    @_lifetime(self: copy self)
    mutating func state() throws(JSONError) -> StateEntry? {
        _ = peek()
        let start = position
        try beginObject()
        if let key = try nextKey(isFirst: true), try text(in: key) == "kind", peek() == 0x22 {
            switch try string() {
            case "link": return .link(try link())
            case "total": return .total(try total())
            case "deleted", "peer", "purged", "anchor", "pending", "audit", "note", "content",
                "import":
                rewind(to: start)
                return try decoded(StateRecord.self).entry()
            case "removedRange":
                rewind(to: start)
                try skipFlatObject()
                return nil
            default: break
            }
        }
        throw JSONError(reason: "its first field must be 'kind', with a kind that 'dump --all' writes")
    }

    /// Reads the fields of a link, after its kind.
    @_lifetime(self: copy self)
    private mutating func link() throws(JSONError) -> PeerLink {
        var peer: PeerID?
        var sample: SampleID?
        var idAtPeer: SampleID?
        var version: Int64 = 0
        var isProvisional = false
        while let key = try nextKey(isFirst: false) {
            switch try text(in: key) {
            case "peer": peer = try PeerID(name())
            case "sample": sample = try sampleID()
            case "peerID": idAtPeer = try sampleID()
            case "version": version = try integer()
            case "provisional": isProvisional = try bool()
            default: throw JSONError(reason: "a field of a link is not known")
            }
        }
        guard let peer, let sample, let idAtPeer else {
            throw JSONError(reason: "a link needs peer, sample and peerID")
        }
        return PeerLink(peer: peer, sample: sample, idAtPeer: idAtPeer, version: version, isProvisional: isProvisional)
    }

    /// Reads the fields of a daily total, after its kind.
    @_lifetime(self: copy self)
    private mutating func total() throws(JSONError) -> DailyTotal {
        var texts: [String: String] = [:]
        var value: Double?
        var goal: Double?
        var isComplete = false
        var time: Instant?
        while let key = try nextKey(isFirst: false) {
            let field = try text(in: key)
            switch field {
            case "peer", "type", "day", "zone", "unit": texts[field] = try name()
            case "value" where null(): break
            case "value": value = try double()
            case "goal" where null(): break
            case "goal": goal = try double()
            case "complete": isComplete = try bool()
            case "time" where null(): break
            case "time": time = try anyInstant(in: .utc)
            default: throw JSONError(reason: "a field of a total is not known")
            }
        }
        guard let peer = texts["peer"], let type = texts["type"], let day = texts["day"], let zone = texts["zone"],
            let unit = try? HealthUnit(symbol: texts["unit"] ?? ""), let time
        else { throw JSONError(reason: "a total needs peer, type, day, zone, unit and time") }
        let total = DailyTotal(
            peer: PeerID(peer), type: SampleType(type), day: day, zone: zone, value: value, goal: goal, unit: unit,
            isComplete: isComplete, time: time)
        do { try total.validate() } catch { throw JSONError(error) }
        return total
    }

    @_lifetime(self: copy self)
    private mutating func name() throws(JSONError) -> String {
        let text = try string()
        guard !text.isEmpty, text.utf8.count <= Sample.textLimit else {
            throw JSONError(ModelError.malformedText(field: "name"))
        }
        return text
    }
}
