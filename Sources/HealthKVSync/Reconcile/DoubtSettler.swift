import HealthKV

/// Decides whether a doubted peer is the database that the links refer to.
struct DoubtSettler: SessionJob {
    let core: SessionCore

    /// Settles the doubt once all types that can be read are adopted, or earlier if the peer shows a sample under an id
    /// that the store knew. A peer that showed none is another database: its unconfirmed links prove nothing and are
    /// removed, and everything that was written here is sent to it. If it is the same database, comparisons handle the
    /// samples that it does not show. Where nothing but this app's samples was ever seen, and they are gone, it may be
    /// either: they are kept, and not sent again.
    func settleDoubt() async throws {
        let (name, known, plan, now) = (name, try state(), plan, now)
        guard known.isDoubted else { return }
        let isSame = known.types.values.contains { $0.doubt.isSeenAgain }
        guard isSame || known.hasShownAll(plan) else { return }
        try await update { txn, state in
            let doubt = state.doubt
            state.doubt = nil
            if isSame { return }
            if doubt == .absence {
                let detail = "the peer shows no sample any more that this app wrote; they are kept and not sent again"
                return state.note(.unverified, detail, at: now)
            }
            for link in try txn.links(of: name) where link.isProvisional && link.isHeldThere {
                try txn.removeLink(link)
            }
            for key in state.types.keys { state.types[key]!.isExported = false }
        }
    }
}
