import HealthKV

/// Where the reading of one feed is. `docs/SYNC.md` has the diagram; ``handle(_:)`` is the table of all transitions.
///
/// A feed is *adopted* once it was read to its end, so that everything an earlier installation left is known (SEMANTICS
/// C21). While samples arrive, the feed holds back what the store would send to other peers (C22).
enum FeedPhase: Codable, Sendable, Equatable {
    /// Not adopted, and nothing of the feed is held back: it was never read, or was left.
    case notBegun
    /// Not adopted, and windows or pages have arrived; the last one came at this time.
    case adopting(since: Instant)
    /// Read to its end, and to be read to its end once more before it counts as adopted.
    case readopting
    /// Adopted. The place was forgotten since, or the type left the plan, so that the feed has more to tell.
    case behind
    /// Adopted, and read in part since; the last page arrived at this time.
    case midway(since: Instant)
    /// Adopted, and read to its end.
    case drained

    /// What happens to a feed.
    enum Event: Sendable {
        /// A window, or a page that is not the last one, was applied.
        case arrived(Instant)
        /// The last page, and every deletion that waited for it, was applied.
        case ended
        /// The next pull begins at the beginning.
        case placeForgotten
        /// The feed must be adopted again.
        case adoptionForgotten
        /// The plan no longer names the type.
        case leftPlan
    }

    mutating func handle(_ event: Event) { self = next(event) }

    private func next(_ event: Event) -> FeedPhase {
        switch (self, event) {
        case (.notBegun, .arrived(let time)), (.adopting, .arrived(let time)), (.readopting, .arrived(let time)):
            .adopting(since: time)
        case (.behind, .arrived(let time)), (.midway, .arrived(let time)), (.drained, .arrived(let time)):
            .midway(since: time)

        case (_, .ended): .drained

        // What has arrived of a feed holds others back until the feed was read to its end.
        case (.notBegun, .placeForgotten), (.adopting, .placeForgotten), (.behind, .placeForgotten),
            (.midway, .placeForgotten):
            self
        case (.readopting, .placeForgotten): .notBegun
        case (.drained, .placeForgotten): .behind

        case (.notBegun, .adoptionForgotten), (.behind, .adoptionForgotten): .notBegun
        case (.adopting(let since), .adoptionForgotten), (.midway(let since), .adoptionForgotten):
            .adopting(since: since)
        case (.readopting, .adoptionForgotten), (.drained, .adoptionForgotten): .readopting

        case (.adopting, .leftPlan): .notBegun
        case (.midway, .leftPlan): .behind
        case (.notBegun, .leftPlan), (.readopting, .leftPlan), (.behind, .leftPlan), (.drained, .leftPlan): self
        }
    }
}

extension FeedPhase {
    /// Whether the feed was read to its end once, and need not be adopted again.
    var isAdopted: Bool {
        switch self {
        case .behind, .midway, .drained: true
        case .notBegun, .adopting, .readopting: false
        }
    }

    /// Whether the feed was read to its end.
    var isDrained: Bool { self == .drained || self == .readopting }

    /// When the last window or page arrived of a feed that is not read to its end; `nil` if nothing has arrived.
    var arrivingSince: Instant? {
        switch self {
        case .adopting(let since), .midway(let since): since
        case .notBegun, .readopting, .behind, .drained: nil
        }
    }
}
