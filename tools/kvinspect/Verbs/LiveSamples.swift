import HealthKV

extension SampleReading where Self: ~Copyable {
    /// Every live sample, shadowed ones too, ordered by type, start, end and id: the order of `dump` and `hash`.
    func forEachLiveSample(_ body: (Sample) throws -> Void) throws {
        for type in try types().map(\.type).sorted() {
            try forEachSample(of: type, includeShadowed: true) { sample in
                try body(sample)
                return true
            }
        }
    }
}
