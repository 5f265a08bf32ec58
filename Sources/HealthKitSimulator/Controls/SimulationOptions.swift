import Foundation

/// The rules that Apple does not document and that no public source settles. Test both settings.
public struct SimulationOptions: Sendable, Hashable {
    /// Whether an equal sync version replaces the sample instead of being skipped (A7).
    public var equalVersionReplaces = false
    /// Whether the limit of an anchored query also counts deletions (A12).
    public var limitCountsDeletions = false
    /// Whether an observer's handler is called when its query is executed (A15).
    public var observerFiresAtStart = true
    /// Whether anchors advance over samples that the app may not see (A17).
    public var anchorsPassInvisible = true
    /// Whether a cumulative sample that crosses a bucket border is split in proportion to time; otherwise it counts
    /// where it starts (A22).
    public var splitsAtBorders = true
    /// Whether deleting a correlation also deletes its members (A25).
    public var deletingCorrelationDeletesMembers = false
    /// Whether the cloud tells a device of deletions of objects that never reached it.
    public var cloudTellsUnseenDeletions = true
    /// Whether an anchored query returns every deletion of its type, whatever its predicate: a deleted object has no
    /// dates to compare (A12).
    public var deletionsIgnorePredicates = true
    /// Whether samples that are saved while the device is locked are kept in a journal, and meet sync identifiers and
    /// versions when the device is unlocked; otherwise they meet them immediately (A16).
    public var journalsWhileLocked = true
    /// The largest number of objects in one save, above which it fails; `nil` for any number. Each member of a
    /// correlation counts as an object. The simulator never counts bytes, although a system may limit the size of the
    /// message that carries the objects.
    public var largestSave: Int?
    /// Whether a save that is too large ends the connection; otherwise it has an error of its own.
    public var oversizeInterrupts = false
    /// Whether an app may delete its objects of a type only while it may write that type (A10).
    public var deletingNeedsSharing = true
    /// Whether samples that start before the earliest permitted date are refused, wherever they end; otherwise those
    /// that end before it (A2).
    public var earliestDateBoundsStarts = false
    /// Whether older samples of a renamed source show the new name; otherwise they keep the name that they were saved
    /// with.
    public var samplesFollowSourceName = true
    /// Whether the samples of an extension have a source of their own; otherwise they have the source of the containing
    /// app.
    public var extensionsAreOwnSources = false
    /// Whether a workout that is built without activities gets one of its own that lasts as long as it.
    public var addsWorkoutActivity = false

    /// Creates options with the settings that seem more likely.
    public init() {}
}
