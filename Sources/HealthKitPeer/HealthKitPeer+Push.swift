import HealthKVSync

extension HealthKitPeer {
    /// Checks all operations first, and knows without a try which types may not be written. One save holds samples of
    /// one type, or the members of one group that may be written; deletions of a type are made together. A refused save
    /// is split into halves to find the refused sample. A lock or a missing permission parks all operations that it
    /// affects.
    ///
    /// A cancelled push saves and deletes nothing more: the engine has left it behind, and may have sent newer versions
    /// meanwhile.
    public func push(_ operations: [PushOperation]) async -> [PushOutcome] {
        var outcomes: [UInt64: PushOutcome] = [:]
        let rules = HealthKitRules(
            longestDuration: gateway.longestDuration, earliest: gateway.earliestPermitted())
        var isWritable: [SampleType: Bool] = [:]
        var valid: [PushOperation] = []
        for operation in operations {
            if let reason = Self.refusal(of: operation, rules) {
                outcomes[operation.sequence] = .refused(reason: reason)
                continue
            }
            let mayWrite = isWritable[operation.type] ?? (gateway.writing(operation.type) == .granted)
            isWritable[operation.type] = mayWrite
            if mayWrite { valid.append(operation) } else { outcomes[operation.sequence] = .parked(.unauthorized) }
        }
        for round in PushRound.rounds(of: valid) {
            for (type, deletions) in round.deletions {
                if Task.isCancelled { break }
                outcomes.merge(await delete(deletions, of: type)) { $1 }
            }
            for parcel in round.parcels { outcomes.merge(await save(parcel)) { $1 } }
        }
        return operations.map { outcomes[$0.sequence] ?? Self.leftBehind }
    }

    private static func refusal(of operation: PushOperation, _ rules: HealthKitRules) -> String? {
        switch operation.kind {
        case .save(let sample): rules.refusal(of: sample)
        case .delete(let deleted):
            deleted.type.catalogNumber == nil ? "HealthKit knows no type \(deleted.type)." : nil
        }
    }

    // MARK: Deleting

    /// Deletes by sync identifier, or else by HealthKit's UUID, because a sample may have been saved before there were
    /// identifiers (SEMANTICS C6). A greater version stays.
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
            if Task.isCancelled { return Self.all(operations, Self.leftBehind) }
            if !present.isEmpty || !ids.isEmpty {
                try await gateway.delete(type, identifiers: present, ids: Set(ids))
            }
            await deleteEmptied(around: held, type)
            return outcomes
        } catch {
            return Self.all(operations, Self.outcome(of: error))
        }
    }

    /// Deletes meals that have lost their last member. If the search fails, the empty meal stays, which does no harm.
    private func deleteEmptied(around held: [HeldSample], _ type: SampleType) async {
        guard let owner = Correlation.type(holding: type), !held.isEmpty else { return }
        try? await gateway.deleteEmpty(owner, at: Set(held.map(\.start)))
    }

    // MARK: Saving

    private func save(_ parcel: Parcel) async -> [UInt64: PushOutcome] {
        do {
            let shipment = try await shipment(parcel)
            if Task.isCancelled { return Self.all(parcel.operations, Self.leftBehind) }
            let ids = try await gateway.save(shipment)
            return await outcomes(of: parcel, await restored(shipment) + zip(shipment.samples, ids))
        } catch .invalid(let reason) {
            guard parcel.operations.count > 1 else { return Self.all(parcel.operations, .refused(reason: reason)) }
            return await saveHalves(of: parcel)
        } catch .other where parcel.operations.count > Self.surelyTaken {
            // A connection that ends may have been given too much in one save.
            return await saveHalves(of: parcel)
        } catch {
            return Self.all(parcel.operations, Self.outcome(of: error))
        }
    }

    /// A save of at most this many objects does not fail for its size.
    private static let surelyTaken = 25

    private func saveHalves(of parcel: Parcel) async -> [UInt64: PushOutcome] {
        var outcomes: [UInt64: PushOutcome] = [:]
        for half in parcel.halves { outcomes.merge(await save(half)) { $1 } }
        return outcomes
    }

    /// Returns the samples of a parcel as one shipment, with the correlation that represents their group:
    ///
    /// - Members that HealthKit does not hold yet form one correlation.
    /// - HealthKit replaces the members that it holds by itself.
    /// - If the parcel has all members, of which some are new and others replace held ones, they form a correlation
    ///   that replaces the incomplete one.
    /// - Members that were added to the group later otherwise form a correlation of their own, because a saved one
    ///   cannot grow.
    /// - Members that are not in this push stay out: they may wait forever, or have been deleted meanwhile.
    ///
    /// A named correlation has the greatest version of its samples. If a save is carried out late, after a newer one of
    /// the same group, HealthKit ignores its correlation as it ignores its samples. With a greater version, the
    /// correlation would replace the newer one without bringing members, and HealthKit may delete those of the newer
    /// one together with it (SEMANTICS A25).
    private func shipment(_ parcel: Parcel) async throws(GatewayError) -> Shipment {
        let samples = parcel.operations.compactMap(\.saved)
        guard parcel.isGroup, let group = samples.first?.group,
            let owner = Correlation.type(holding: samples.map(\.type))
        else { return Shipment(samples: samples) }
        let versions = Dictionary(samples.map { ($0.syncIdentifier ?? "", $0.version) }) { $1 }
        let newest = versions.values.max() ?? 1
        let mates = (parcel.operations.first?.group ?? []).filter { Correlation.type(holding: $0.type) == owner }
        let live = Set(mates.map { $0.syncIdentifier ?? $0.id.description })
        let identifier = "\(OwnKey.group).\(group)"
        var members = Set(versions.keys)
        func ship(_ version: Int64?, replaces: Bool = false) -> Shipment {
            Shipment(
                samples: samples,
                correlation: Shipment.Correlation(
                    type: owner, members: members, name: version.map { (identifier, $0) }, replaces: replaces))
        }
        do {
            var held: [String: Int64] = [:]
            for type in Set(samples.map(\.type)) {
                for sample in try await gateway.held(members, of: type) { held[sample.syncIdentifier] = sample.version }
            }
            members = members.filter { held[$0] ?? .min < versions[$0] ?? 0 }
            let fresh = members.subtracting(held.keys)
            if fresh.isEmpty { return Shipment(samples: samples) }
            let known = try await gateway.held([identifier], of: owner).map(\.version).max()
            let isWhole = !live.isEmpty && members.isSuperset(of: live)
            if !isWhole { members = fresh }
            guard let known else { return ship(newest) }
            return isWhole ? ship(max(known + 1, newest), replaces: true) : ship(nil)
        } catch .locked {
            // A locked device accepts samples that it does not show (SEMANTICS A16). A sample that was never sent is
            // not there.
            let sent = parcel.operations.filter { $0.idAtPeer != nil }.compactMap(\.saved?.syncIdentifier)
            members.subtract(sent)
            return members.isEmpty ? Shipment(samples: samples) : ship(members.isSuperset(of: live) ? newest : nil)
        }
    }

    /// Saves members that vanished with a replaced correlation once more, on their own. It is unknown whether HealthKit
    /// deletes the members of a correlation together with it when another one replaces it (SEMANTICS A25). If HealthKit
    /// does not tell what is missing, for example because the device was locked meanwhile, all are saved again: a
    /// sample that is not missing replaces itself or is ignored.
    private func restored(_ shipment: Shipment) async -> [(Sample, SampleID)] {
        guard let correlation = shipment.correlation, correlation.replaces else { return [] }
        var missing: [Sample] = []
        for (type, samples) in Dictionary(grouping: shipment.samples, by: \.type) {
            let held = try? await gateway.held(correlation.members, of: type)
            let names = Set((held ?? []).map(\.syncIdentifier))
            let wanted = correlation.members.subtracting(names)
            missing += samples.filter { wanted.contains($0.syncIdentifier ?? "") }
        }
        guard !missing.isEmpty, let ids = try? await gateway.save(Shipment(samples: missing)) else { return [] }
        return Array(zip(missing, ids))
    }

    /// Returns the outcomes of a save. HealthKit reports success even if it keeps a greater version (SEMANTICS A6), so
    /// this function queries the samples that it holds. If the query fails, for example while the device is locked, the
    /// UUIDs that were saved are valid until the samples are pulled back.
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
                outcomes[operation.sequence] = .done(idAtPeer: ids[sample.id])
                continue
            }
            outcomes[operation.sequence] = found.version > sample.version ? .superseded : .done(idAtPeer: found.id)
        }
        return outcomes
    }

    /// Deletes replaced samples without a sync identifier: HealthKit replaces only earlier versions with one. Returns
    /// `true` if no such sample is left.
    private func deleteReplaced(
        by operations: [PushOperation], of type: SampleType, _ held: [String: HeldSample]
    ) async -> Bool {
        let ids = operations.filter(\.replacesUnnamed).compactMap { operation in
            operation.idAtPeer == held[operation.saved?.syncIdentifier ?? ""]?.id ? nil : operation.idAtPeer
        }
        guard !ids.isEmpty else { return true }
        return (try? await gateway.delete(type, identifiers: [], ids: Set(ids))) != nil
    }

    /// The outcome of an operation that a cancelled push did not carry out.
    private static let leftBehind = PushOutcome.failed(reason: "It was not tried.")

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
    /// The UUID to delete by if HealthKit does not know the sync identifier.
    fileprivate var unnamedID: SampleID? {
        guard case .delete(let deleted) = kind else { return nil }
        return idAtPeer ?? (deleted.syncIdentifier == nil ? deleted.id : nil)
    }
}
