import HealthModel

/// The distance of two times, of which the later one comes second. Centuries may be longer than a signed number holds.
private func distance(_ from: Int64, _ to: Int64) -> Double { Double(UInt64(bitPattern: to &- from)) }

extension Series {
    /// Returns at most `count` of the points, chosen so that a line through them looks like a line through all: of each
    /// part of the series the point that spans the largest triangle with the chosen point before it and the mean of the
    /// next part.
    ///
    /// ```swift
    /// let curve = try store.read { try $0.series(.bodyMass, from: a, to: b) }.largestTriangles(500)
    /// ```
    ///
    /// All points are points of the series. For the extremes of each part, ask for
    /// ``SampleReading/series(_:from:to:points:unit:)``. The series must be in the order of time; the first and the
    /// last point are always chosen, so `count` must be at least 2.
    public func largestTriangles(_ count: Int) -> Series {
        Misuse.refuse(unless: count >= 2, "a line has two points at least")
        guard self.count > count else { return self }
        if count == 2 {
            return Series(
                times: [times[0], times[self.count - 1]], values: [values[0], values[self.count - 1]], unit: unit)
        }
        var chosen = [0]
        let parts = count - 2
        func start(_ part: Int) -> Int { 1 + part * (self.count - 2) / parts }
        for part in 0..<parts {
            let (first, end) = (start(part), start(part + 1))
            // After the last part comes the last point alone.
            let next = part + 1 < parts ? end..<start(part + 2) : self.count - 1..<self.count
            // Times are taken from the last chosen point, so that the numbers stay exact.
            let (time, value) = (times[chosen[part]], values[chosen[part]])
            let meanTime = next.reduce(0) { $0 + distance(time, times[$1]) } / Double(next.count)
            let meanValue = next.reduce(0) { $0 + values[$1] - value } / Double(next.count)
            var (best, greatest) = (first, -1.0)
            for index in first..<end {
                let area = abs(distance(time, times[index]) * meanValue - (values[index] - value) * meanTime)
                if area > greatest { (best, greatest) = (index, area) }
            }
            chosen.append(best)
        }
        chosen.append(self.count - 1)
        return Series(times: chosen.map { times[$0] }, values: chosen.map { values[$0] }, unit: unit)
    }
}
