import HealthKV

extension SampleReading where Self: ~Copyable {
    /// Every live sample, shadowed ones too, ordered by type, start, end and id: the order of `dump` and `hash`.
    ///
    /// - Parameter skippingDamage: skips damaged ranges and returns them, instead of throwing at the first.
    @discardableResult
    func forEachLiveSample(
        skippingDamage: Bool = false, _ body: (Sample) throws -> Void
    ) throws -> [DamagedRange] {
        var lost: [DamagedRange] = []
        for type in try liveTypes() {
            func take(_ sample: Sample) throws -> Bool {
                try body(sample)
                return true
            }
            if skippingDamage {
                lost += try forEachReadableSample(SampleQuery(type, includeShadowed: true), take)
            } else {
                try forEachSample(SampleQuery(type, includeShadowed: true), take)
            }
        }
        return lost
    }

    /// The types in the order of `dump` and `hash`. Only the names are wanted: what of a type cannot be read is met, or
    /// not, on the way.
    func liveTypes() throws -> [SampleType] { try types(onDamage: { _, _ in }).map(\.type).sorted() }
}
