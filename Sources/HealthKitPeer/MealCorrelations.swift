import HealthKVSync

/// The correlations that represent groups in HealthKit, such as meals: which samples form one, when it replaces an
/// earlier one, and when it is deleted.
struct MealCorrelations {
    let gateway: any HealthGateway

    /// What became of members that vanished with a replaced correlation.
    struct Restored {
        /// Those that were saved once more, with their UUIDs.
        var saved: [(Sample, SampleID)] = []
        /// Those whose second save failed.
        var lost: Set<SampleID> = []
    }

    /// Returns the samples of a parcel as one shipment, with the correlation that represents their group:
    ///
    /// - Members that HealthKit does not hold yet form one correlation.
    /// - HealthKit replaces the members that it holds by itself. If all of them moved to another time, they form a
    ///   correlation there that replaces the old one.
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
    func shipment(of parcel: Parcel) async throws(GatewayError) -> Shipment {
        let samples = parcel.operations.compactMap(\.saved)
        guard parcel.isGroup, let group = samples.first?.group,
            let owner = Correlation.type(holding: samples.map(\.type))
        else { return Shipment(samples: samples) }
        let versions = Dictionary(samples.map { ($0.syncIdentifier ?? "", $0.version) }) { $1 }
        let newest = versions.values.max() ?? 1
        let mates = (parcel.operations.first?.group ?? []).filter { mate in
            Correlation.type(holding: mate.type) == owner && gateway.writing(mate.type) == .granted
        }
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
            let isWhole = !live.isEmpty && members.isSuperset(of: live)
            if fresh.isEmpty, !isWhole { return Shipment(samples: samples) }
            let known = try await gateway.held([identifier], of: owner).max { $0.version < $1.version }
            // A replaced correlation may take along members that this save does not bring, as those of a type that may
            // not be written any more.
            let outside = (parcel.operations.first?.group ?? []).filter { mate in
                Correlation.type(holding: mate.type) == owner
                    && !members.contains(mate.syncIdentifier ?? mate.id.description)
            }
            if known != nil, try await isAnyHeld(outside) {
                members = fresh
                return fresh.isEmpty ? Shipment(samples: samples) : ship(nil)
            }
            if fresh.isEmpty {
                // HealthKit leaves a correlation at its time when its members move. It rounds times to a fraction of a
                // microsecond.
                guard let known, let first = samples.first,
                    known.start + 1_000_000 < first.start || first.start + 1_000_000 < known.start
                else { return Shipment(samples: samples) }
                return ship(max(known.next, newest), replaces: true)
            }
            if !isWhole { members = fresh }
            guard let known else { return ship(newest) }
            return isWhole ? ship(max(known.next, newest), replaces: true) : ship(nil)
        } catch .locked {
            // A locked device accepts samples that it does not show (SEMANTICS A16). A sample that was never sent is
            // not there. A meal that was sent, and is sent whole again, may have moved: it waits for the unlocking,
            // because the version that its correlation has is not known now.
            let sent = parcel.operations.filter { $0.idAtPeer != nil }.compactMap(\.saved?.syncIdentifier)
            if !sent.isEmpty, !live.isEmpty, members.isSuperset(of: live) { throw .locked }
            members.subtract(sent)
            return members.isEmpty ? Shipment(samples: samples) : ship(members.isSuperset(of: live) ? newest : nil)
        }
    }

    private func isAnyHeld(_ samples: [Sample]) async throws(GatewayError) -> Bool {
        for (type, samples) in Dictionary(grouping: samples, by: \.type) {
            let names = Set(samples.map { $0.syncIdentifier ?? $0.id.description })
            if try await !gateway.held(names, of: type).isEmpty { return true }
        }
        return false
    }

    /// Deletes the group's other correlations once a shipment has replaced them: those of members that were added to
    /// the group later, unless they hold others as well. Returns the members that had to be saved again. If the
    /// deletion fails, an old correlation stays beside the new one until the group is deleted.
    func settled(_ shipment: Shipment) async -> Restored {
        guard let correlation = shipment.correlation, correlation.replaces else { return Restored() }
        if let name = correlation.name, let group = shipment.samples.first?.group {
            try? await gateway.deleteCorrelations(
                correlation.type, of: group, except: name.identifier, holdingOnly: correlation.members)
        }
        return await restored(shipment, correlation)
    }

    /// Saves members that vanished with a replaced correlation once more, on their own. It is unknown whether HealthKit
    /// deletes the members of a correlation together with it when another one replaces it (SEMANTICS A25). If HealthKit
    /// does not tell what is missing, for example because the device was locked meanwhile, all are saved again: a
    /// sample that is not missing replaces itself or is ignored.
    private func restored(_ shipment: Shipment, _ correlation: Shipment.Correlation) async -> Restored {
        var missing: [Sample] = []
        for (type, samples) in Dictionary(grouping: shipment.samples, by: \.type) {
            let held = try? await gateway.held(correlation.members, of: type)
            let names = Set((held ?? []).map(\.syncIdentifier))
            let wanted = correlation.members.subtracting(names)
            missing += samples.filter { wanted.contains($0.syncIdentifier ?? "") }
        }
        if missing.isEmpty { return Restored() }
        guard let ids = try? await gateway.save(Shipment(samples: missing)) else {
            return Restored(lost: Set(missing.map(\.id)))
        }
        return Restored(saved: Array(zip(missing, ids)))
    }

    /// Deletes meals that have lost their last member, which may have moved away from them. If the search fails, the
    /// empty meal stays, which does no harm.
    func deleteEmptied(around held: [HeldSample], _ operations: [PushOperation], _ type: SampleType) async {
        guard let owner = Correlation.type(holding: type) else { return }
        let groups = Set(
            operations.compactMap { if case .delete(let deleted) = $0.kind { deleted.group } else { nil } })
        guard !held.isEmpty || !groups.isEmpty else { return }
        try? await gateway.deleteEmpty(owner, at: Set(held.map(\.start)), of: groups)
    }
}
