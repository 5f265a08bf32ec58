import HealthKV

/// Finds what a database holds in place of the versions that it reports as deleted.
///
/// A deletion names one version. A health database may report the end of a version after our place in its feed, and the
/// replacement before that place: if it was rebuilt, if it delivers in parts, or if it replaced a version and its
/// answer got lost. So the deletion of a live sample counts as the user's only after the peer was asked what it still
/// holds under that sync identifier.
struct ReplacementFinder: SessionJob {
    let core: SessionCore

    /// Returns a page with the samples that live at the peer in place of the versions that it reports as deleted. If a
    /// version that it reports as deleted lives there itself, the peer contradicts itself, and the deletion is dropped.
    func withReplacements(_ page: PullPage, _ type: SampleType) async throws -> PullPage {
        guard !peer.keepsRecords, !page.deletions.isEmpty else { return page }
        var page = page
        for (type, names) in try named(page, type).sorted(by: { $0.key < $1.key }) {
            for shown in try await living(Set(names.keys), of: type) where isAsked(shown, names) {
                // An abandoned call saved this version after the deletion of a version that was sent later.
                if shown.isOwn, let name = shown.sample.syncIdentifier, shown.sample.version < names[name]?.number ?? 0
                {
                    continue
                }
                page.deletions.removeAll { $0.idAtPeer == shown.idAtPeer }
                page.additions.append(shown)
            }
        }
        return page
    }

    /// Whose samples are asked for under a sync identifier, which several apps may use.
    private struct Asked {
        var isOwn = false
        var sources: Set<SourceIdentity> = []
        /// The greatest number of a deleted own version; 0 if it is not known.
        var number: Int64 = 0
    }

    private func isAsked(_ shown: PulledSample, _ names: [String: Asked]) -> Bool {
        guard let asked = names[shown.sample.syncIdentifier ?? ""] else { return false }
        return shown.isOwn ? asked.isOwn : asked.sources.contains(shown.sample.source.identity)
    }

    /// Returns the sync identifiers of live samples that a page deletes without another version of them, by type, each
    /// with the number of the deleted version; 0 if that is not known.
    private func named(_ page: PullPage, _ type: SampleType) throws -> [SampleType: [String: Asked]] {
        let shown = Set(page.additions.compactMap(\.sample.syncIdentifier))
        let (name, own) = (name, store.ownSource.identity)
        return try store.read { txn in
            var names: [SampleType: [String: Asked]] = [:]
            for deletion in page.deletions {
                guard let sample = try txn.live(deletion, of: name, feed: type, own: own) else { continue }
                let text = sample.syncIdentifier ?? (sample.origin == .authored ? sample.id.description : nil)
                guard let text, !shown.contains(text) else { continue }
                let link = try txn.link(peer: name, sample: sample.id)
                let number = link?.idAtPeer == deletion.idAtPeer && link?.isHeldThere == true ? link?.version : nil
                var asked = names[sample.type]?[text] ?? Asked()
                if sample.origin == .authored {
                    (asked.isOwn, asked.number) = (true, max(asked.number, number ?? 0))
                } else {
                    asked.sources.insert(sample.source.identity)
                }
                names[sample.type, default: [:]][text] = asked
            }
            return names
        }
    }

    /// Returns the samples that the peer shows under some sync identifiers.
    func living(_ names: Set<String>, of type: SampleType) async throws -> [PulledSample] {
        var (found, cursor): ([PulledSample], [UInt8]?) = ([], nil)
        repeat {
            try Task.checkCancellation()
            try await holdLease()
            let page = try await peer.enumerate(
                EnumerationRequest(type: type, cursor: cursor, limit: options.pageSize, syncIdentifiers: names))
            found += page.samples.filter { names.contains($0.sample.syncIdentifier ?? "") }
            cursor = page.cursor
        } while cursor != nil
        return found
    }
}

extension SessionJob {
    var replacements: ReplacementFinder { ReplacementFinder(core: core) }
}

extension SampleReading where Self: ~Copyable {
    /// Returns the live sample that a deletion may mean.
    fileprivate func live(
        _ deletion: PulledDeletion, of peer: PeerID, feed: SampleType, own: SourceIdentity
    ) throws -> Sample? {
        if let link = try link(peer: peer, idAtPeer: deletion.idAtPeer) { return try sample(id: link.sample) }
        if let sample = try sample(id: deletion.idAtPeer) { return sample }
        guard let text = deletion.syncIdentifier else { return nil }
        return try authored(text, feed, by: own)
    }

    /// Returns the live sample of a type that an app wrote under a sync identifier, whatever the app's name was then.
    func authored(_ syncIdentifier: String, _ type: SampleType, by app: SourceIdentity) throws -> Sample? {
        try samples(syncIdentifier: syncIdentifier).first {
            $0.type == type && $0.origin == .authored && $0.source.identity.isSameApp(as: app)
        }
    }
}
