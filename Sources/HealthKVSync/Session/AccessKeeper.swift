import HealthKV

/// Asks whether the peer is there and what may be read and written, keeps what the peer says, and acts on changes.
struct AccessKeeper: SessionJob {
    let core: SessionCore

    /// Asks whether the peer is available, and stores the answer. An unavailable peer ends the sync; a locked one can
    /// still save.
    func checkAvailability() async throws -> PeerAvailability {
        let availability = try await peer.availability()
        try await noteAvailability(availability)
        switch availability {
        case .available, .locked: return availability
        case .unavailable: throw issue(.unavailable, "the peer does not exist here")
        case .restricted: throw issue(.unavailable, "the peer is restricted")
        }
    }

    func noteAvailability(_ availability: PeerAvailability) async throws {
        let (now, known) = (now, try state())
        let isLocked = availability == .locked
        let since = isLocked ? try lockedSince(known.lockedSince, now) : nil
        // Noted once for each period in which the peer is locked. A notice from the future tells of none.
        let isTold = since.map { since in
            known.notices.contains { $0.code == .lockedForLong && $0.time >= since && $0.time <= now }
        }
        let isLong = isTold == false && since.map { now >= $0 + .days(1) } ?? false
        if availability != known.availability || since != known.lockedSince || isLong {
            let name = name
            try await update { txn, state in
                if availability == .available, state.availability != .available {
                    try txn.unpark([.locked, .unavailable], of: name)
                }
                state.availability = availability
                state.lockedSince = since
                if isLong { state.note(.lockedForLong, "health data is locked for more than a day", at: now) }
            }
        }
    }

    /// Returns since when the peer is locked. A time that is ahead, or before the peer was known, was noted with a
    /// wrong clock.
    private func lockedSince(_ noted: Instant?, _ now: Instant) throws -> Instant {
        let name = name
        let registered = try store.blockingRead { try $0.peer(name)?.registered }
        guard let noted, noted <= now, noted >= min(registered ?? .distantPast, now) else { return now }
        return noted
    }

    /// Types whose access is granted one by one.
    var authorizedTypes: [SampleType] { peer.needsAuthorization ? plan.types.keys.sorted() : [] }

    /// Asks the user. Feeds that may have become readable are read again from the beginning (SEMANTICS C23).
    func authorize(_ stage: AuthorizationStage) async throws {
        let request = plan.request(stage)
        try await holdLease()
        do {
            try await peer.database?.requestAuthorization(request)
        } catch {
            if error.code == .unauthorized { try await noteCancelled() }
            throw SyncIssue(error, plan: plan)
        }
        try await refreshAuthorization(afterRequest: request.read)
    }

    /// Notes that the user cancelled the question, which grants nothing. Unless something was granted before, the app
    /// should switch the sync off (SEMANTICS C24).
    private func noteCancelled() async throws {
        try await refreshAuthorization()
        let (now, plan) = (now, plan)
        try await update { _, state in
            let isGranted = plan.types.contains { $0.value.pushes && state[$0.key].authorization?.writing == .granted }
            if !isGranted { state.note(.nothingGranted, "the question for access was cancelled", at: now) }
        }
    }

    /// Compares the peer's authorization with the stored one.
    func refreshAuthorization(afterRequest asked: Set<SampleType> = []) async throws {
        guard let database = peer.database, database.traits.needsAuthorization else { return }
        var found: [SampleType: TypeAuthorization] = [:]
        for type in authorizedTypes { found[type] = try await database.authorization(of: type) }
        // An answer to a cancelled task is not valid.
        try Task.checkCancellation()
        let known = try state()
        let isSame = found.allSatisfy { type, answer in
            known[type].authorization == answer && (known[type].asked != nil || answer.advice != .unnecessary)
        }
        if isSame, asked.isEmpty { return }
        let (name, now, answers, plan) = (name, now, found, plan)
        try await update { txn, state in
            var isGranted = false
            for (type, answer) in answers {
                let before = state[type].authorization
                state[type].authorization = answer
                // An earlier installation may have asked the user.
                let isAsked = asked.contains(type) || answer.advice == .unnecessary
                if isAsked, plan.types[type]?.pulls ?? false, state[type].asked == nil { state[type].asked = now }
                if answer.writing == .granted, before?.writing != .granted {
                    isGranted = true
                    // What an earlier installation left can be read now, and is adopted before anything is sent.
                    if !state[type].phase.isAdopted, state[type].pulls.isRefused { state[type].pulls.succeed() }
                }
                let reachesBack = (answer.earliest ?? .distantPast) < (before?.earliest ?? .distantPast)
                guard before != nil, asked.contains(type) || reachesBack, plan.types[type]?.pulls ?? false else {
                    continue
                }
                if plan.types[type]?.retention == .mirror {
                    try state.readAgainBehindTail(type, at: name, in: &txn)
                } else {
                    try state.readAgain(type, at: name, in: &txn)
                }
            }
            let ungranted = answers.filter { $0.value.writing != .granted }.keys
            if isGranted { try txn.unpark([.unauthorized], of: name, except: Set(ungranted)) }
            // Types that were refused may be allowed now.
            for type in asked.union(answers.keys) where !asked.isEmpty && state[type].pulls.failure != nil {
                state[type].pulls.retry(at: now)
            }
            let shared = answers.filter { plan.types[$0.key]?.pushes ?? false }
            let isAllDenied = !shared.isEmpty && shared.allSatisfy { $0.value.writing == .denied }
            state.notices.removeAll { $0.code == .nothingGranted }
            if isAllDenied { state.note(.nothingGranted, "nothing that may be shared is granted", at: now) }
        }
    }

    /// Returns the types that are sent and for which the user is known not to allow writing.
    func ungrantedTypes() throws -> Set<SampleType> {
        guard peer.needsAuthorization else { return [] }
        let known = try state()
        let pushed = plan.types.filter { $0.value.pushes }.keys
        return Set(pushed.filter { type in known[type].authorization.map { $0.writing != .granted } ?? false })
    }

    /// Returns the reason why operations wait for access, so that the app can tell the user; `nil` if none do.
    func accessIssue() throws -> SyncIssue? {
        let ungranted = try ungrantedTypes()
        guard !ungranted.isEmpty else { return nil }
        let (name, known) = (name, try state())
        let lacking = Set(try store.read { try $0.pendingCounts(for: name).lackingAccess }.keys)
        guard !lacking.isEmpty else { return nil }
        let isDenied = lacking.contains { known[$0].authorization?.writing == .denied }
        let names = lacking.sorted().map(\.description).joined(separator: ", ")
        return issue(isDenied ? .accessDenied : .accessNotDetermined, "entries wait for access to write \(names)")
    }
}

extension SessionJob {
    var access: AccessKeeper { AccessKeeper(core: core) }
}
