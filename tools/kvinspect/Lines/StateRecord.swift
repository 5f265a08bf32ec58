import HealthKV

/// A line of sync state whose fields are read by their names.
struct StateRecord: Decodable {
    private let kind: String
    private let peer, id, type, scope, token, outcome, source, bundle, syncIdentifier, group, queue: String?
    private let operation, status, reason, accessType, event, displaced, name, bytes, job: String?
    private let sample: SampleID?
    private let content: Sample?
    private let registered, lastSeen, time, nextTry, modified, start, end, latest: Instant?
    private let queueTypes: [String]?
    private let syncVersion, number, attempts, replica, batches: Int64?
    private let retired, sent: Bool?

    func entry() throws(JSONError) -> StateEntry {
        switch kind {
        case "deleted": .deleted(try deletion())
        case "peer": .peer(try registeredPeer())
        case "purged":
            .purged(
                SampleType(try name(type, "type")),
                SourceIdentity(bundle: bundle ?? "", name: try required(source, "source")), latest: latest)
        case "anchor": .anchor(try anchor())
        case "pending": .pending(try pending())
        case "note":
            .note(name: try self.name(name, "name"), bytes: try StateRecord.bytes(required(bytes, "bytes")))
        case "content": .content(try deletedContent(), deleted: try required(time, "time"))
        case "import": .importPosition(job: try name(job, "job"), batches: try position())
        default:
            .audit(
                event: try required(event, "event"), sample: try required(sample, "sample"),
                displaced: try StateRecord.bytes(displaced ?? ""), time: time)
        }
    }

    private func required<Value>(_ value: Value?, _ name: String) throws(JSONError) -> Value {
        guard let value else { throw JSONError(reason: "state of the kind \(kind) needs \(name)") }
        return value
    }

    private func name(_ text: String?, _ name: String) throws(JSONError) -> String {
        let text = try required(text, name)
        guard !text.isEmpty, text.utf8.count <= Sample.textLimit else {
            throw JSONError(ModelError.malformedText(field: name))
        }
        return text
    }

    private func deletedContent() throws(JSONError) -> Sample {
        let sample = try required(content, "content")
        do { try sample.validate() } catch { throw JSONError(error) }
        return sample
    }

    private func position() throws(JSONError) -> Int {
        let batches = try required(batches, "batches")
        guard (0..<1 << 62).contains(batches) else { throw JSONError(ModelError.numberOutOfRange(field: "batches")) }
        return Int(batches)
    }

    private func deletion() throws(JSONError) -> DeletedSample {
        guard let id = SampleID(try required(id, "id")) else { throw JSONError(ModelError.malformedIdentifier) }
        let version = try required(syncVersion, "syncVersion")
        guard (1...Sample.versionLimit).contains(version) else {
            throw JSONError(ModelError.numberOutOfRange(field: "version"))
        }
        guard let replica = UInt32(exactly: replica ?? 0) else {
            throw JSONError(ModelError.numberOutOfRange(field: "replica"))
        }
        return DeletedSample(
            id: id, type: SampleType(try name(type, "type")),
            source: SourceIdentity(bundle: bundle ?? "", name: source ?? ""), syncIdentifier: syncIdentifier,
            version: version, modified: ChangeClock(time: modified ?? .distantPast, replica: replica), group: group,
            start: start, end: end)
    }

    /// A peer as a store that is new to it knows it: what it has seen of the dumped store counts for no other one.
    private func registeredPeer() throws(JSONError) -> RegisteredPeer {
        let types = queueTypes.map { Set($0.map { SampleType($0) }) }
        let now = lastSeen ?? registered ?? .distantPast
        var known = RegisteredPeer(
            id: PeerID(try name(peer, "peer")), registered: registered ?? now, lastSeen: now,
            queue: queue.map { QueueRule(types: types, takesImports: $0 == "all") })
        known.isRetired = retired ?? false
        return known
    }

    private func anchor() throws(JSONError) -> Anchor {
        Anchor(
            peer: PeerID(try name(peer, "peer")), type: SampleType(try name(type, "type")), scope: scope ?? "",
            token: try StateRecord.bytes(required(token, "token")), time: time ?? .distantPast, outcome: outcome ?? "")
    }

    private func pending() throws(JSONError) -> PendingOperation {
        let kinds: [String: PendingOperation.Kind] = ["save": .save, "delete": .delete]
        let states: [String: PendingOperation.State] = [
            "waiting": .waiting, "parked": .parked, "quarantined": .quarantined,
        ]
        guard let kind = kinds[operation ?? ""], let state = states[status ?? "waiting"] else {
            throw JSONError(reason: "an operation is 'save' or 'delete', and 'waiting', 'parked' or 'quarantined'")
        }
        let isEndless = nextTry == nil && state == .parked
        var pending = PendingOperation(
            peer: PeerID(try name(peer, "peer")), kind: kind, sample: try required(sample, "sample"),
            version: try required(number, "number"), attempts: Int(clamping: attempts ?? 0),
            nextTry: nextTry ?? (isEndless && accessType != nil ? .distantFuture : .distantPast), state: state,
            reason: reason ?? "")
        pending.isSent = sent ?? false
        pending.accessType = accessType.map { SampleType($0) }
        return pending
    }

    private static func bytes(_ text: String) throws(JSONError) -> [UInt8] {
        let digits = Array(text.utf8)
        var bytes: [UInt8] = []
        guard digits.count.isMultiple(of: 2) else { throw JSONError(reason: "bytes are pairs of hexadecimal digits") }
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let byte = UInt8(String(decoding: digits[index..<index + 2], as: UTF8.self), radix: 16) else {
                throw JSONError(reason: "bytes are pairs of hexadecimal digits")
            }
            bytes.append(byte)
        }
        return bytes
    }
}
