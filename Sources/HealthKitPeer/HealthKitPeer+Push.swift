import HealthKVSync

extension HealthKitPeer {
    /// Checks everything first. One save holds one type, or one group; deletions of a type go together. What HealthKit refuses is
    /// looked for by halves; a lock or a missing permission parks all that it holds for.
    public func push(_ operations: [PushOperation]) async -> [PushOutcome] {
        var outcomes: [UInt64: PushOutcome] = [:]
        let rules = HealthKitRules(longestDuration: gateway.longestDuration)
        var valid: [PushOperation] = []
        for operation in operations {
            if let reason = Self.refusal(of: operation, rules) {
                outcomes[operation.sequence] = .refused(reason: reason)
            } else {
                valid.append(operation)
            }
        }
        for round in PushRound.rounds(of: valid) {
            for (type, deletions) in round.deletions {
                outcomes.merge(await delete(deletions, of: type)) { $1 }
            }
            for parcel in round.parcels { outcomes.merge(await save(parcel)) { $1 } }
        }
        return operations.map { outcomes[$0.sequence] ?? .failed(reason: "It was not tried.") }
    }

    private static func refusal(of operation: PushOperation, _ rules: HealthKitRules) -> String? {
        switch operation.kind {
        case .save(let sample): rules.refusal(of: sample)
        case .delete(let deleted):
            deleted.type.catalogNumber == nil ? "HealthKit knows no type \(deleted.type)." : nil
        }
    }

    // MARK: Deleting

    /// By sync identifier, else by what HealthKit called it: it may have been saved before there were identifiers (SEMANTICS C6). A
    /// greater version stays.
    private func delete(_ operations: [PushOperation], of type: SampleType) async -> [UInt64: PushOutcome] {
        var identified: [String: PushOperation] = [:]
        for operation in operations {
            guard case .delete(let deleted) = operation.kind else { continue }
            identified[deleted.syncIdentifier ?? deleted.id.description] = operation
        }
        var outcomes = Self.all(operations, .done())
        do {
            let held = try await gateway.held(Set(identified.keys), of: type)
            let named = Set(held.map(\.syncIdentifier))
            let ids = identified.filter { !named.contains($0.key) }.compactMap(\.value.unnamedID)
            for sample in held {
                guard let operation = identified[sample.syncIdentifier], sample.version > operation.version else {
                    continue
                }
                identified[sample.syncIdentifier] = nil
                outcomes[operation.sequence] = .superseded
            }
            let present = named.intersection(identified.keys)
            if !present.isEmpty || !ids.isEmpty {
                try await gateway.delete(type, identifiers: present, ids: Set(ids))
            }
            await deleteEmptied(around: held, type)
            return outcomes
        } catch {
            return Self.all(operations, Self.outcome(of: error))
        }
    }

    /// A meal whose last member went is nothing; it stays where looking for it fails, which harms nobody.
    private func deleteEmptied(around held: [HeldSample], _ type: SampleType) async {
        guard let owner = Correlation.type(holding: type), !held.isEmpty else { return }
        try? await gateway.deleteEmpty(owner, at: Set(held.map(\.start)))
    }

    // MARK: Saving

    private func save(_ parcel: Parcel) async -> [UInt64: PushOutcome] {
        do {
            let shipment = try await shipment(parcel)
            let ids = try await gateway.save(shipment)
            return await outcomes(of: parcel, Array(zip(shipment.samples, ids)))
        } catch .invalid(let reason) {
            guard parcel.operations.count > 1 else { return Self.all(parcel.operations, .refused(reason: reason)) }
            var outcomes: [UInt64: PushOutcome] = [:]
            for half in parcel.halves { outcomes.merge(await save(half)) { $1 } }
            return outcomes
        } catch {
            return Self.all(parcel.operations, Self.outcome(of: error))
        }
    }

    /// Members of a group that HealthKit does not hold yet go as one correlation. Replacements of others it puts in their places by
    /// itself. What was added to the group later makes a correlation of its own, since one that is saved cannot grow. Members that
    /// are not in this push stay out: they may wait for good, or have been deleted meanwhile.
    private func shipment(_ parcel: Parcel) async throws(GatewayError) -> Shipment {
        let samples = parcel.operations.compactMap(\.saved)
        guard parcel.isGroup, let owner = Correlation.type(holding: samples.map(\.type)) else {
            return Shipment(samples: samples)
        }
        let identifiers = Set(samples.compactMap(\.syncIdentifier))
        var fresh = identifiers
        do {
            for type in Set(samples.map(\.type)) {
                for sample in try await gateway.held(identifiers, of: type) { fresh.remove(sample.syncIdentifier) }
            }
        } catch .locked {
            // A locked device takes what it does not show (SEMANTICS A16). What was never sent is not there.
            let sent = parcel.operations.filter { $0.peerID != nil }.compactMap(\.saved?.syncIdentifier)
            fresh = identifiers.subtracting(sent)
        }
        return Shipment(samples: samples, correlation: fresh.isEmpty ? nil : (owner, fresh))
    }

    /// HealthKit reports success when it keeps a greater version (SEMANTICS A6), so it is asked what it holds. Where it cannot be
    /// asked, as while it is locked, the UUIDs that were saved stand until they are pulled back.
    private func outcomes(of parcel: Parcel, _ saved: [(Sample, SampleID)]) async -> [UInt64: PushOutcome] {
        var held: [String: HeldSample] = [:]
        var stuck: Set<SampleType> = []
        for (type, operations) in Dictionary(grouping: parcel.operations, by: \.type) {
            let identifiers = Set(operations.compactMap(\.saved?.syncIdentifier))
            for sample in (try? await gateway.held(identifiers, of: type)) ?? [] {
                held[sample.syncIdentifier] = sample
            }
            if !(await deleteReplaced(by: operations, of: type, held)) { stuck.insert(type) }
        }
        let ids = Dictionary(saved.map { ($0.0.id, $0.1) }) { first, _ in first }
        var outcomes: [UInt64: PushOutcome] = [:]
        for operation in parcel.operations {
            guard let sample = operation.saved else { continue }
            if stuck.contains(sample.type), operation.replacesUnnamed {
                outcomes[operation.sequence] = .unknown(reason: "what it replaces could not be deleted")
                continue
            }
            guard let found = held[sample.syncIdentifier ?? ""] else {
                outcomes[operation.sequence] = .done(peerID: ids[sample.id])
                continue
            }
            outcomes[operation.sequence] = found.version > sample.version ? .superseded : .done(peerID: found.id)
        }
        return outcomes
    }

    /// HealthKit puts a version in the place of an earlier one by itself, unless that has no sync identifier. Answers whether nothing
    /// of the kind is left.
    private func deleteReplaced(
        by operations: [PushOperation], of type: SampleType, _ held: [String: HeldSample]
    ) async -> Bool {
        let ids = operations.filter(\.replacesUnnamed).compactMap { operation in
            operation.peerID == held[operation.saved?.syncIdentifier ?? ""]?.id ? nil : operation.peerID
        }
        guard !ids.isEmpty else { return true }
        return (try? await gateway.delete(type, identifiers: [], ids: Set(ids))) != nil
    }

    private static func all(_ operations: [PushOperation], _ outcome: PushOutcome) -> [UInt64: PushOutcome] {
        Dictionary(operations.map { ($0.sequence, outcome) }) { first, _ in first }
    }

    private static func outcome(of error: GatewayError) -> PushOutcome {
        switch error {
        case .notDetermined, .denied, .cancelled: .parked(.unauthorized)
        case .locked: .parked(.locked)
        case .unavailable, .restricted: .parked(.unavailable)
        case .invalid(let reason): .refused(reason: reason)
        case .expired: .failed(reason: "an anchor has no place here")
        case .other(let reason): .unknown(reason: reason)
        }
    }
}

extension PushOperation {
    /// What a deletion goes by when HealthKit does not know the sync identifier.
    fileprivate var unnamedID: SampleID? {
        guard case .delete(let deleted) = kind else { return nil }
        return peerID ?? (deleted.syncIdentifier == nil ? deleted.id : nil)
    }
}
