import HealthKV

extension History {
    /// Whole samples spread evenly over the history, each at a random place of its section, in chronological order.
    public func picks(_ count: Int) -> [Sample] {
        let count = Swift.min(count, samples)
        var random = SplitMix64(seed: seed, stream: 31)
        var picked: [Sample] = []
        picked.reserveCapacity(count)
        var before = 0
        var wanted = place(0, of: count, &random)
        for batch in self where picked.count < count {
            while picked.count < count, wanted < before + batch.count {
                picked.append(batch.sample(at: wanted - before))
                wanted = place(picked.count, of: count, &random)
            }
            before += batch.count
        }
        return picked
    }

    /// A random row in the section of pick number `index`.
    private func place(_ index: Int, of count: Int, _ random: inout SplitMix64) -> Int {
        guard index < count else { return .max }
        let from = samples * index / count
        let to = samples * (index + 1) / count
        return from + random.below(to - from)
    }
}
