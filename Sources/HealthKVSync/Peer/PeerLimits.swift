import HealthKV

/// How much a peer takes at once. The engine sends and asks for no more, whatever its own options say.
public struct PeerLimits: Sendable, Hashable, Codable {
    /// The most operations of one push; `nil` for any number.
    public var operations: Int?
    /// The most samples that one page should be asked for; `nil` for any number.
    public var page: Int?

    /// Limits; none unless they are given.
    public init(operations: Int? = nil, page: Int? = nil) {
        self.operations = operations
        self.page = page
    }
}

extension PeerLimits {
    /// How many samples a page is asked for.
    func page(_ wanted: Int) -> Int { min(wanted, max(1, page ?? .max)) }

    /// Operations in parts that the peer takes. Members of a group are not torn apart, unless they are more than that.
    func parts(of operations: [PushOperation]) -> [ArraySlice<PushOperation>] {
        let limit = max(1, self.operations ?? .max)
        var parts: [ArraySlice<PushOperation>] = []
        var rest = operations[...]
        while rest.count > limit {
            let end = rest.startIndex + limit
            let whole = (rest.startIndex + 1..<end + 1).last { !rest[$0].isMate(of: rest[$0 - 1]) } ?? end
            parts.append(rest[..<whole])
            rest = rest[whole...]
        }
        if !rest.isEmpty { parts.append(rest) }
        return parts
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
