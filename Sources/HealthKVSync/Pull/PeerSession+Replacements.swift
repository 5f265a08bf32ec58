import HealthKV

// A deletion names one version. A database of health that was rebuilt, delivers in parts, or replaced a version while its answer got lost may tell of
// the end of a version behind our place in its feed, and of what took its place before it. So a deletion of what lives here is taken for the
// user's only after the peer was asked what it still holds under that name.
extension PeerSession {
    /// A page with what lives at the peer in place of the versions that it says were deleted. Where the very version lives there that is said to
    /// be deleted, the peer contradicts itself, and nothing is deleted on its word.
    func withReplacements(_ page: PullPage, _ type: SampleType) async throws -> PullPage {
        guard !peer.traits.keepsRecords, !page.deletions.isEmpty else { return page }
        var page = page
        for (type, names) in try named(page, type).sorted(by: { $0.key < $1.key }) {
            for shown in try await living(Set(names.keys), of: type) {
                // Saved by a call that was left behind, after what was sent later was deleted.
                if shown.isOwn, let name = shown.sample.syncIdentifier, shown.sample.version < names[name] ?? 0 {
                    continue
                }
                page.deletions.removeAll { $0.peerID == shown.peerID }
                page.additions.append(shown)
            }
        }
        return page
    }

    /// The sync identifiers of what lives here and a page deletes without telling of another version, by type, each with the number of the deleted
    /// version; 0 where it is not known.
    private func named(_ page: PullPage, _ type: SampleType) throws -> [SampleType: [String: Int64]] {
        let shown = Set(page.additions.compactMap(\.sample.syncIdentifier))
        let (name, own) = (name, store.ownSource.identity)
        return try store.read { txn in
            var names: [SampleType: [String: Int64]] = [:]
            for deletion in page.deletions {
                guard let sample = try txn.live(deletion, of: name, feed: type, own: own) else { continue }
                let text = sample.syncIdentifier ?? (sample.origin == .authored ? sample.id.description : nil)
                guard let text, !shown.contains(text) else { continue }
                let link = try txn.link(peer: name, sample: sample.id)
                let number = link?.peerID == deletion.peerID && link?.isHeldThere == true ? link?.version : nil
                names[sample.type, default: [:]][text] = number ?? 0
            }
            return names
        }
    }

    /// What the peer shows under some sync identifiers.
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

extension SampleReading where Self: ~Copyable {
    /// The live sample that a deletion may be about.
    fileprivate func live(
        _ deletion: PulledDeletion, of peer: String, feed: SampleType, own: SourceIdentity
    ) throws -> Sample? {
        if let link = try link(peer: peer, peerID: deletion.peerID) { return try sample(id: link.sample) }
        if let sample = try sample(id: deletion.peerID) { return sample }
        guard let text = deletion.syncIdentifier else { return nil }
        return try samples(syncIdentifier: text).first {
            $0.type == feed && $0.origin == .authored && $0.source.identity.isSameApp(as: own)
        }
    }
}
