import HealthKV

extension SyncDigest {
    /// Adds a sample. A sample with a sync identifier of its own is identified by it, because two stores may have given
    /// the sample different ids. The origin does not count, because one store may have written what another imported.
    public mutating func add(_ sample: Sample) {
        var encoder = CanonicalEncoder()
        if let text = sample.syncIdentifier, text != sample.id.description {
            encoder.append(text)
        } else {
            encoder.append(sample.id.high)
            encoder.append(sample.id.low)
        }
        encoder.append(UInt64(bitPattern: sample.version))
        encoder.append(UInt64(bitPattern: sample.modified?.time.nanoseconds ?? 0))
        encoder.append(UInt64(sample.modified?.replica ?? 0))
        encoder.encodeContent(of: sample)
        encoder.encodeOverlay(of: sample)
        count += 1
        sum &+= SyncDigest.word(encoder.bytes)
    }

    /// Returns a word for each distinct sequence of bytes, mixed so that sums over many words stay distinct.
    private static func word(_ bytes: [UInt8]) -> UInt64 {
        var word: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in bytes { word = (word ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return word ^ (word >> 31)
    }
}

extension SampleReading where Self: ~Copyable {
    /// Returns a digest of the live samples of a type that start in a window, including shadowed ones; of all types if
    /// `type` is `nil`.
    public func syncDigest(of type: SampleType? = nil, in window: TimeRange = .all) throws -> SyncDigest {
        var digest = SyncDigest()
        for type in try type.map({ [$0] }) ?? typesWithSamples().sorted() {
            try forEachSample(
                SampleQuery(type, from: window.from, to: window.to, rule: .strictStart, includeShadowed: true)
            ) { sample in
                digest.add(sample)
                return true
            }
        }
        return digest
    }
}
