/// The result of saving a sample.
public enum SaveOutcome: String, Sendable, Hashable, CaseIterable {
    /// The sample is new.
    case inserted
    /// The sample replaced an older version of itself.
    case replaced
    /// The store already held the sample with this content; nothing changed.
    case unchanged
    /// The store holds a greater version; nothing changed.
    case older
    /// The sample was deleted, and its version is not above the deleted one; nothing changed.
    case vetoed
}
