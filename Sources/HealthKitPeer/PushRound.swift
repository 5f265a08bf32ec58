import HealthKVSync

/// Operations that may be carried out in any order, because no two of them are about the same sample.
struct PushRound {
    private(set) var deletions: [SampleType: [PushOperation]] = [:]
    private(set) var parcels: [Parcel] = []
    private var identities: Set<SampleID> = []

    /// Splits operations wherever one is about the same sample as an earlier one, so that their order is kept.
    static func rounds(of operations: [PushOperation]) -> [PushRound] {
        var rounds = [PushRound()]
        for operation in operations {
            if rounds[rounds.count - 1].identities.contains(operation.identity) { rounds.append(PushRound()) }
            rounds[rounds.count - 1].add(operation)
        }
        return rounds
    }

    private mutating func add(_ operation: PushOperation) {
        identities.insert(operation.identity)
        guard let sample = operation.saved else {
            deletions[operation.type, default: []].append(operation)
            return
        }
        let group = Correlation.type(holding: sample.type) == nil ? nil : sample.group
        let key = sample.type == .workout ? Parcel.Key.alone(sample.id) : group.map { .group($0) } ?? .type(sample.type)
        if let index = parcels.firstIndex(where: { $0.key == key }) {
            parcels[index].operations.append(operation)
        } else {
            parcels.append(Parcel(key: key, operations: [operation]))
        }
    }
}

/// The operations of one save: samples of one type, those of one group, or one workout.
struct Parcel {
    enum Key: Hashable {
        case type(SampleType)
        case group(String)
        case alone(SampleID)
    }

    let key: Key
    var operations: [PushOperation]

    var isGroup: Bool { if case .group = key { true } else { false } }

    /// Both halves, to find the operation that HealthKit refuses.
    var halves: [Parcel] {
        let middle = operations.count / 2
        return [Array(operations[..<middle]), Array(operations[middle...])].map { Parcel(key: key, operations: $0) }
    }
}

extension PushOperation {
    /// The sample to save, without the data that stays in the store.
    var saved: Sample? { if case .save(let sample) = kind { sample.shared } else { nil } }

    var identity: SampleID {
        switch kind {
        case .save(let sample): sample.id
        case .delete(let deleted): deleted.id
        }
    }
}
