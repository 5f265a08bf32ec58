extension Range<Int> {
    /// Returns the first index whose element does not precede the wanted one; all that precede it must come first.
    @inline(__always)
    func firstIndex(notPreceding precedes: (Int) throws -> Bool) rethrows -> Int {
        var (low, high) = (lowerBound, upperBound)
        while low < high {
            let middle = (low + high) / 2
            if try precedes(middle) { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
