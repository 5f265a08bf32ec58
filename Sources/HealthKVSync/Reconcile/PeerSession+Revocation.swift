import HealthKV

// A peer that hides what may not be read never says that reading was refused or revoked (SEMANTICS A17). What can be known is told (C11, C36).
extension PeerSession {
    /// How often it is looked whether samples of others still show.
    private static let lookEvery = Duration.seconds(3_600)

    /// After this long without anything of others the status advises to switch the sync off.
    private static let patience = Duration.seconds(86_400)

    /// Looks at each foreground, at most once an hour, whether anything still shows of what others wrote and was seen.
    func lookForRevocation(_ feeds: [SampleType]) async throws {
        guard isCompared else { return }
        for type in feeds where try isLookDue(type) {
            lookedForOthers[type] = now
            do {
                let isSeen = try await showsOthers(type)
                let known = try state()[type]
                if isSeen, known.vanished == nil { continue }
                let (now, issue) = (now, issue(.accessRevoked, "what was readable vanished twice"))
                let message = plan.noticeMessages[.readingRevoked]
                try await update { _, state in
                    state.noteVanished(type, !isSeen, issue, at: now, message: message)
                }
            } catch is PeerError {
                // What cannot be read now says nothing.
                try Task.checkCancellation()
            }
        }
        try await noteUnreadable()
    }

    private func isLookDue(_ type: SampleType) throws -> Bool {
        let known = try state()[type]
        guard plan.types[type]?.pulls ?? false, !known.sources.isEmpty, known.isDrained, known.failure == nil,
            known.isDoubted != true
        else { return false }
        let last = [known.vanishedAt, lookedForOthers[type]].compactMap(\.self).max()
        return last?.hasPassed(PeerSession.lookEvery, at: now) ?? true
    }

    /// Whether the peer shows anything of others. The latest that is held is looked for first: where it shows, nothing else is asked for.
    private func showsOthers(_ type: SampleType) async throws -> Bool {
        let (name, known) = (name, try state()[type])
        var latest: Sample?
        try store.read { txn in
            // Before the date from which on reading is allowed nothing shows.
            let from = known.authorization?.earliest ?? .distantPast
            try txn.forEachSample(
                of: type, from: from, rule: .strictStart, order: .descending, includeShadowed: true
            ) { sample in
                guard sample.origin == .imported, known.sources.contains(sample.source.identity),
                    try txn.link(peer: name, sample: sample.id)?.isFromElsewhere != true
                else { return true }
                latest = sample
                return false
            }
        }
        // Who holds nothing has lost nothing.
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

    /// A plan that only reads, and that has seen nothing for a day since its user was asked, has nothing to do or may not do it.
    private func noteUnreadable() async throws {
        let (now, plan, known) = (now, plan, try state())
        guard !plan.types.isEmpty, plan.types.values.allSatisfy({ !$0.pushes }) else { return }
        let isUnreadable = plan.types.keys.allSatisfy { type in
            guard known[type].readAccess == .noDataOrDenied, let asked = known[type].asked else { return false }
            return asked.hasPassed(PeerSession.patience, at: now)
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
