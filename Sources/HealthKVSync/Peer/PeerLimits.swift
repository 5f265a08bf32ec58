import HealthKV

/// How much a peer takes at once. The engine neither sends nor requests more, whatever its own options say.
public struct PeerLimits: Sendable, Hashable, Codable {
    /// The maximum number of operations in one push; `nil` for any number.
    public var operations: Int? { didSet { check() } }
    /// The maximum number of samples to request in one page; `nil` for any number.
    public var page: Int? { didSet { check() } }
    /// How long a call of this peer may take; `nil` for the engine's own deadline, ``SyncOptions/callDeadline``. A peer
    /// behind a slow line may need more, a peer on this device less. The question for access has a deadline of its own.
    public var deadline: Duration? { didSet { check() } }

    /// Creates limits; there are none by default. Each is at least 1, and the deadline is above zero.
    public init(operations: Int? = nil, page: Int? = nil, deadline: Duration? = nil) {
        self.operations = operations
        self.page = page
        self.deadline = deadline
        check()
    }

    /// Reads limits; throws for limits that a peer cannot have.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let operations = try container.decodeIfPresent(Int.self, forKey: .operations)
        let page = try container.decodeIfPresent(Int.self, forKey: .page)
        let deadline = try container.decodeIfPresent(Duration.self, forKey: .deadline)
        if let fault = PeerLimits.fault(operations, page, deadline) {
            throw DecodingError.dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: fault))
        }
        self.init(operations: operations, page: page, deadline: deadline)
    }

    /// Ends the process if a limit lets nothing pass.
    private func check() {
        if let fault = PeerLimits.fault(operations, page, deadline) { preconditionFailure(fault) }
    }

    private static func fault(_ operations: Int?, _ page: Int?, _ deadline: Duration?) -> String? {
        if let operations, operations < 1 { return "the limit operations is \(operations), and must be at least 1" }
        if let page, page < 1 { return "the limit page is \(page), and must be at least 1" }
        if let deadline, deadline <= .zero { return "the limit deadline must be above zero" }
        return nil
    }
}

extension PeerLimits {
    /// Returns these limits, narrowed by those that the other side has told. Its deadline counts only where there is
    /// none here, and up to a quarter of an hour.
    func narrowed(by told: PeerLimits?) -> PeerLimits {
        guard let told else { return self }
        func least(_ one: Int?, _ other: Int?) -> Int? { [one, other].compactMap(\.self).min() }
        return PeerLimits(
            operations: least(operations, told.operations), page: least(page, told.page),
            deadline: deadline ?? told.deadline.map { min($0, PeerLimits.longestTold) })
    }

    private static let longestTold: Duration = .seconds(900)

    /// Returns how long a call may take.
    func deadline(usual: Duration) -> Duration { deadline.map { max(.seconds(1), $0) } ?? usual }

    /// Returns how many samples to request in a page.
    func page(_ wanted: Int) -> Int { min(wanted, page ?? .max) }

    /// Splits operations into parts that the peer takes, of at most as many as are wanted. Members of a group stay in
    /// one part, unless the group alone exceeds the limit.
    func parts(of operations: [PushOperation], wanted: Int = .max) -> [ArraySlice<PushOperation>] {
        let most = self.operations ?? .max
        let limit = min(wanted, most)
        var parts: [ArraySlice<PushOperation>] = []
        var rest = operations[...]
        while rest.count > limit {
            let end = rest.startIndex + limit
            let border = (rest.startIndex + 1..<end + 1).last { !rest[$0].isMate(of: rest[$0 - 1]) }
            let whole = border ?? rest.endOfGroup(after: end, atMost: most)
            parts.append(rest[..<whole])
            rest = rest[whole...]
        }
        if !rest.isEmpty { parts.append(rest) }
        return parts
    }
}

extension ArraySlice<PushOperation> {
    /// Returns where the group ends that begins the slice and reaches a place, or the greatest number of its members.
    fileprivate func endOfGroup(after place: Int, atMost most: Int) -> Int {
        let end = (place..<endIndex).first { !self[$0].isMate(of: self[$0 - 1]) } ?? endIndex
        return end - startIndex > most ? startIndex + most : end
    }
}

extension PushOperation {
    private var groupName: String? {
        switch kind {
        case .save(let sample): sample.group
        case .delete(let deleted): deleted.group
        }
    }

    fileprivate func isMate(of other: PushOperation) -> Bool { groupName != nil && groupName == other.groupName }
}
