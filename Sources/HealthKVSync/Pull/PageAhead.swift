import HealthKV

/// What a peer answered to the request for the next page while the page before it was committed.
///
/// It is used only where the engine, once it has committed, would ask just the same. So a page that was pulled ahead is dropped when
/// the page before it was not committed, or when its feed is to be read from elsewhere since.
struct PageAhead: Sendable {
    let request: PullRequest
    let answer: Result<PullPage, PeerError>

    /// The request for the page behind another; `nil` where nothing is pulled ahead.
    ///
    /// A peer that keeps records may learn from a request how far its reader has come, and what is not committed is not held.
    static func request(behind page: PullPage, of request: PullRequest, _ traits: PeerTraits) -> PullRequest? {
        guard !traits.keepsRecords, !page.isDrained, let token = page.token, token != request.token else { return nil }
        var next = request
        next.token = token
        return next
    }
}
