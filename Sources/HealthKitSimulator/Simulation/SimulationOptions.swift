import Foundation

/// What Apple does not document and no public source settled: the rules that are open. Test both settings.
public struct SimulationOptions: Sendable, Hashable {
    /// An equal sync version replaces instead of being skipped (A7).
    public var equalVersionReplaces = false
    /// The limit of an anchored query counts deletions too (A12).
    public var limitCountsDeletions = false
    /// An observer's handler fires when its query is executed (A15).
    public var observerFiresAtStart = true
    /// Anchors advance over samples that may not be seen (A17).
    public var anchorsPassInvisible = true
    /// A cumulative sample that crosses a border of buckets is split in proportion to time; otherwise it counts where it starts (A22).
    public var splitsAtBorders = true
    /// Deleting a correlation takes its members along (A25).
    public var deletingCorrelationDeletesMembers = false
    /// The cloud tells a device of deletions of objects that never reached it.
    public var cloudTellsUnseenDeletions = true

    /// The settings that are thought more likely.
    public init() {}
}
