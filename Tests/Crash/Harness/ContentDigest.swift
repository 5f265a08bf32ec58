import HealthKV

/// The content of a store in three numbers: the count of samples and a 128-bit sum of their hashes. A sum, because
/// samples are added and removed in any order; 128 bits, so that different contents never collide in practice.
///
/// The digest omits the clock of the last change, because only the store knows it.
struct ContentDigest: Hashable, Sendable {
    private(set) var count = 0
    private(set) var first: UInt64 = 0
    private(set) var second: UInt64 = 0

    mutating func add(_ sample: Sample) { change(sample, 1) }
    mutating func remove(_ sample: Sample) { change(sample, -1) }

    private mutating func change(_ sample: Sample, _ sign: Int) {
        var bare = sample
        bare.modified = nil
        var encoder = CanonicalEncoder()
        encoder.encode(bare)
        let (one, two) = ContentDigest.hashes(encoder.bytes)
        count += sign
        first = sign > 0 ? first &+ one : first &- one
        second = sign > 0 ? second &+ two : second &- two
    }

    private static func hashes(_ bytes: [UInt8]) -> (UInt64, UInt64) {
        var (one, two) = (WordHash(seed: 11), WordHash(seed: 12))
        var word: UInt64 = 0
        for (place, byte) in bytes.enumerated() {
            word = word << 8 | UInt64(byte)
            if place % 8 == 7 {
                one.mix(word)
                two.mix(word)
            }
        }
        one.mix(word)
        two.mix(word)
        return (one.value, two.value ^ UInt64(bytes.count))
    }
}

extension ContentDigest: LosslessStringConvertible {
    var description: String { "\(count) \(String(first, radix: 16)) \(String(second, radix: 16))" }

    init?(_ text: String) { self.init(words: text.split(separator: " ")[...]) }

    init?(words: ArraySlice<Substring>) {
        guard words.count == 3, let count = Int(words[words.startIndex]),
            let first = UInt64(words[words.startIndex + 1], radix: 16),
            let second = UInt64(words[words.startIndex + 2], radix: 16)
        else { return nil }
        (self.count, self.first, self.second) = (count, first, second)
    }
}

extension SampleReading where Self: ~Copyable {
    /// Reads every sample of the types that the workload uses.
    func content(_ visit: (Sample) throws -> Void = { _ in }) throws -> ContentDigest {
        var digest = ContentDigest()
        for type in Vocabulary.types {
            try forEachSample(SampleQuery(type, includeShadowed: true)) { sample in
                digest.add(sample)
                try visit(sample)
                return true
            }
        }
        return digest
    }
}
