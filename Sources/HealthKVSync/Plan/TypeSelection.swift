import HealthKV

/// A selection of types by identifier: the named types, or all types except the named ones.
struct TypeSelection: Codable, Sendable, Equatable {
    var named: Set<String>
    /// Whether the selection means all types except the named ones.
    var isOfOthers = false

    func contains(_ type: SampleType) -> Bool { named.contains(type.identifier) != isOfOthers }

    /// Returns `true` if this selection contains all types of another selection.
    func covers(_ other: TypeSelection) -> Bool {
        switch (isOfOthers, other.isOfOthers) {
        case (false, false): named.isSuperset(of: other.named)
        case (false, true): false
        case (true, false): named.isDisjoint(with: other.named)
        case (true, true): named.isSubset(of: other.named)
        }
    }
}

extension SyncPlan {
    /// The types that are sent, including those without a plan of their own.
    var sent: TypeSelection { selection(\.pushes) }

    /// The types that are taken from the peer's feeds, including those without a plan of their own.
    var taken: TypeSelection { selection(\.pulls) }

    private func selection(_ isMeant: (TypePlan) -> Bool) -> TypeSelection {
        let isOfOthers = others.map(isMeant) ?? false
        let named = types.filter { isMeant($0.value) != isOfOthers }.keys.map(\.identifier)
        return TypeSelection(named: Set(named), isOfOthers: isOfOthers)
    }
}
