/// What saving a sample did.
public enum SaveOutcome: String, Sendable, Hashable, CaseIterable {
    /// The sample is new.
    case inserted
    /// It took the place of an older version of the same sample.
    case replaced
    /// The store held it already; nothing changed.
    case unchanged
    /// The store holds a newer version; nothing changed.
    case older
    /// It was deleted, and its version is not above the deleted one; nothing changed.
    case vetoed
}
