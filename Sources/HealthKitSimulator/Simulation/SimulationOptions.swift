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
    /// An anchored query tells of each deletion of its type, whatever its predicate says: a deleted object has no dates to ask for (A12).
    public var deletionsIgnorePredicates = true
    /// What is saved while the device is locked is kept in a journal, and meets sync identifiers and versions when it is unlocked; otherwise it does
    /// at once (A16).
    public var journalsWhileLocked = true
    /// A save of more objects than this fails; `nil` for any number.
    public var largestSave: Int?
    /// A save that is too large ends the connection; otherwise it is an error of its own.
    public var oversizeInterrupts = false
    /// An app deletes its objects of a type only while it may write that type (A10).
    public var deletingNeedsSharing = true
    /// Samples that start before the earliest permitted date are refused, wherever they end; otherwise those that end before it (A2).
    public var earliestDateBoundsStarts = false
    /// When a source is renamed its older samples show the new name; otherwise they keep the one that they were saved with.
    public var samplesFollowSourceName = true
    /// What an extension saves has a source of its own; otherwise the source of the app that holds it.
    public var extensionsAreOwnSources = false

    /// The settings that are thought more likely.
    public init() {}
}
