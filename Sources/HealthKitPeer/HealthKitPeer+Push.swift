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

    private var meals: MealCorrelations { MealCorrelations(gateway: gateway) }

    // MARK: Deleting

    /// Finds samples by sync identifier, or else by HealthKit's UUID, because a sample may have been saved before there
    /// were identifiers (SEMANTICS C6). Deletes what it found by UUID: a greater version stays, and so does one that is
    /// saved meanwhile.
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
            var ids = Set(identified.filter { !named.contains($0.key) }.compactMap(\.value.unnamedID))
            for sample in held {
                guard let operation = identified[sample.syncIdentifier], sample.version > operation.version else {
                    continue
                }
                identified[sample.syncIdentifier] = nil
                outcomes[operation.sequence] = .superseded
            }
            ids.formUnion(held.filter { identified[$0.syncIdentifier] != nil }.map(\.id))
            if Task.isCancelled { return Self.all(operations, Self.leftBehind) }
            // Totals go first, and again if an earlier call ended in between: nothing else finds them later.
            let left = type == .workout ? try await gateway.deleteTotals(of: Set(identified.keys), before: nil) : []
            if Task.isCancelled { return Self.all(operations, Self.leftBehind) }
            if !ids.isEmpty { try await gateway.delete(type, ids: ids) }
            await meals.deleteEmptied(around: held, operations, type)
            // Totals that may not be deleted now are deleted once they may: the deletion of the workout is repeated.
            for name in left {
                if let operation = identified[name] { outcomes[operation.sequence] = .parked(.unauthorized) }
            }
            return outcomes
        } catch {
            return Self.all(operations, Self.outcome(of: error))
        }
    }

    // MARK: Saving

    private func save(_ parcel: Parcel) async -> [UInt64: PushOutcome] {
        do {
            let shipment = try await meals.shipment(of: parcel)
            if Task.isCancelled { return Self.all(parcel.operations, Self.leftBehind) }
            let ids = try await gateway.save(shipment)
            var left: Set<String> = []
            for workout in shipment.samples where workout.type == .workout {
                left.formUnion(try await deleteOldTotals(of: workout))
            }
            let restored = await meals.settled(shipment)
            var outcomes = await outcomes(of: parcel, restored.saved + zip(shipment.samples, ids))
            for operation in parcel.operations where restored.lost.contains(operation.identity) {
                outcomes[operation.sequence] = .unknown(reason: "it may have vanished with an earlier meal")
            }
            // A workout beside totals of an earlier version is saved again, until these may be written.
            for operation in parcel.operations where left.contains(operation.saved?.syncIdentifier ?? "") {
                outcomes[operation.sequence] = .unknown(reason: "totals of an earlier version may not be replaced")
            }
            return outcomes
        } catch .invalid(let reason) {
            guard parcel.operations.count > 1 else { return Self.all(parcel.operations, .refused(reason: reason)) }
            return await saveHalves(of: parcel)
        } catch .other where parcel.operations.count > (parcel.isGroup ? Self.largestMeal : Self.surelyTaken) {
            // A connection that ends may have been given too much in one save.
            return await saveHalves(of: parcel)
        } catch {
            return Self.all(parcel.operations, Self.outcome(of: error))
        }
    }

    /// Deletes the totals that a workout had in earlier versions and has no more. A locked device does not show them.
    /// Returns the workout if some may not be deleted.
    private func deleteOldTotals(of workout: Sample) async throws(GatewayError) -> Set<String> {
        do {
            return try await gateway.deleteTotals(of: [workout.syncIdentifier ?? ""], before: workout.version)
        } catch .locked { return [] }
    }

    /// A save of at most this many objects does not fail for its size.
    private static let surelyTaken = 25
    /// A group of at most this many members is tried again as a whole: halved, it would become two correlations, which
    /// cannot be joined. HealthKit has 39 nutrients.
    private static let largestMeal = 100

    private func saveHalves(of parcel: Parcel) async -> [UInt64: PushOutcome] {
        var outcomes: [UInt64: PushOutcome] = [:]
        for half in parcel.halves { outcomes.merge(await save(half)) { $1 } }
        return outcomes
    }

    /// Returns the outcomes of a save. HealthKit reports success even if it keeps a greater version (SEMANTICS A6), so
    /// this function queries the samples that it holds. If the query fails, for example while the device is locked, the
    /// UUIDs that were saved are valid until the samples are pulled back.
    private func outcomes(of parcel: Parcel, _ saved: [(Sample, SampleID)]) async -> [UInt64: PushOutcome] {
        // One app may use an identifier for two types (SEMANTICS A4).
        var held: [SampleType: [String: HeldSample]] = [:]
        var stuck: Set<SampleType> = []
        for (type, operations) in Dictionary(grouping: parcel.operations, by: \.type) {
            let identifiers = Set(operations.compactMap(\.saved?.syncIdentifier))
            let found = (try? await gateway.held(identifiers, of: type)) ?? []
            let named = Dictionary(found.map { ($0.syncIdentifier, $0) }) { $1 }
            held[type] = named
            if !(await deleteReplaced(by: operations, of: type, named)) { stuck.insert(type) }
        }
        let ids = Dictionary(saved.map { ($0.0.id, $0.1) }) { first, _ in first }
        var outcomes: [UInt64: PushOutcome] = [:]
        for operation in parcel.operations {
            guard let sample = operation.saved else { continue }
            if stuck.contains(sample.type), operation.replacesUnnamed {
                outcomes[operation.sequence] = .unknown(reason: "what it replaces could not be deleted")
                continue
            }
            guard let found = held[sample.type]?[sample.syncIdentifier ?? ""] else {
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
        return (try? await gateway.delete(type, ids: Set(ids))) != nil
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
