import HealthModel

/// A place in the order that decides which source wins time from others.
public struct RankedSource: Sendable, Hashable, Codable {
    /// The source at this place, whatever its revision. If the place or the source has no bundle, their names are
    /// compared, unless another place names the source exactly.
    public var source: SourceIdentity
    /// Restricts the place to samples that a person typed in, or to the others; `nil` for all samples of the source,
    /// the typed ones first.
    public var isUserEntered: Bool?

    /// Creates a place for a source: for all of its samples, unless `isUserEntered` restricts it to those typed in or
    /// to the others.
    public init(_ source: SourceIdentity, isUserEntered: Bool? = nil) {
        self.source = source
        self.isUserEntered = isUserEntered
    }

    private func covers(_ isUserEntered: Bool) -> Bool { (self.isUserEntered ?? isUserEntered) == isUserEntered }

    /// Returns the place of a source's samples in an order.
    static func place(of source: SourceIdentity, isUserEntered: Bool, in order: [RankedSource]) -> Int? {
        order.firstIndex { $0.source == source && $0.covers(isUserEntered) }
            ?? order.firstIndex { place in
                (place.source.bundle.isEmpty || source.bundle.isEmpty) && isSameText(place.source.name, source.name)
                    && place.covers(isUserEntered)
            }
    }
}
