import HealthKV

/// A peer's answer to the request for the next page, made while the page before it was being committed.
///
/// It is used only if the engine would make the same request after the commit. So it is dropped if the page before it
/// was not committed, or if the feed must be read from another place meanwhile.
struct PageAhead: Sendable {
    let request: PullRequest
    let answer: Result<PullPage, PeerError>

    /// Returns the request for the page after another, or `nil` if nothing is pulled ahead.
    ///
    /// A record peer may infer from a request how far its reader has read, and an uncommitted page does not count as
    /// read.
    static func request(behind page: PullPage, of request: PullRequest, keepsRecords: Bool) -> PullRequest? {
        guard !keepsRecords, !page.isDrained, let token = page.token, token != request.token else { return nil }
        var next = request
        next.token = token
        return next
    }
}
