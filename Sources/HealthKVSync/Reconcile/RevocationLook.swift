import HealthKV

/// Looks whether foreign samples still show. A peer that hides unreadable samples never says that reading was refused
/// or revoked (SEMANTICS A17); the session reports what can be inferred (C11, C36).
struct RevocationLook: SessionJob {
    let core: SessionCore

    /// How often the session checks that foreign samples still show.
    private static let lookEvery = Duration.seconds(3_600)

    /// After this long without any foreign sample, the status advises switching the sync off.
    private static let patience = Duration.seconds(86_400)

    /// Checks whether the peer still shows any foreign sample of the types for which it showed some before. Runs
    /// whenever the app comes to the foreground, at most once an hour.
    func lookForRevocation(_ feeds: [SampleType]) async throws {
        guard peer.hidesUnreadable else { return }
        for type in feeds where try isLookDue(type) {
            memory.lookedForOthers[type] = now
            do {
                let isSeen = try await showsOthers(type)
                let known = try state()[type]
                if isSeen, known.visibility == .shown { continue }
                let (now, issue) = (now, issue(.accessRevoked, "what was readable vanished twice"))
                let message = plan.noticeMessages[.readingRevoked]
                try await update { _, state in
                    state.noteVanished(type, !isSeen, issue, at: now, message: message)
                }
            } catch is PeerError {
                // A read that fails now proves nothing.
                try Task.checkCancellation()
            }
        }
        try await noteUnreadable()
    }

    private func isLookDue(_ type: SampleType) throws -> Bool {
        let known = try state()[type]
        guard plan.types[type]?.pulls ?? false, !known.sources.isEmpty, known.phase.isDrained,
            known.pulls.failure == nil, !known.doubt.isOpen
        else { return false }
        let last = [known.visibility.vanishedAt, memory.lookedForOthers[type]].compactMap(\.self).max()
        return last?.hasPassed(Self.lookEvery, at: now) ?? true
    }

    /// Returns `true` if the peer shows any foreign sample. Looks for the latest one in the store first: if that one
    /// shows, nothing else is read.
    private func showsOthers(_ type: SampleType) async throws -> Bool {
        let (name, known) = (name, try state()[type])
        var latest: Sample?
        try store.blockingRead { txn in
            // Nothing shows from before the date from which reading is allowed.
            let from = known.authorization?.earliest ?? .distantPast
            try txn.forEachSample(
                SampleQuery(type, from: from, rule: .strictStart, order: .descending, includeShadowed: true)
            ) { sample in
                guard sample.origin == .imported, known.sources.contains(sample.source.identity),
                    try txn.link(peer: name, sample: sample.id)?.isFromElsewhere != true
                else { return true }
                latest = sample
                return false
            }
        }
        // A store that holds nothing has lost nothing.
        guard let latest else { return true }
        let moment = TimeRange(from: latest.start - .milliseconds(1), to: latest.start + .milliseconds(1))
        for window in [moment, .all] {
            var cursor: [UInt8]?
            repeat {
                try Task.checkCancellation()
                let page = try await peer.enumerate(
                    EnumerationRequest(type: type, window: window, cursor: cursor, limit: options.shortPage))
                if page.samples.contains(where: { !$0.isOwn }) { return true }
                cursor = page.cursor
            } while cursor != nil
        }
        return false
    }

    /// Notes a plan that only reads and has seen nothing for a day since its user was asked: there is no data, or
    /// reading is not allowed.
    private func noteUnreadable() async throws {
        let (now, plan, known) = (now, plan, try state())
        guard !plan.types.isEmpty, plan.types.values.allSatisfy({ !$0.pushes }) else { return }
        let isUnreadable = plan.types.keys.allSatisfy { type in
            guard known[type].readAccess == .noDataOrDenied, let asked = known[type].asked else { return false }
            return asked.hasPassed(Self.patience, at: now)
        }
        guard isUnreadable != known.notices.contains(where: { $0.code == .nothingReadable }) else { return }
        try await update { _, state in
            if isUnreadable {
                state.note(.nothingReadable, "nothing could be read for a day since the user was asked", at: now)
            } else {
                state.notices.removeAll { $0.code == .nothingReadable }
            }
        }
    }
}
