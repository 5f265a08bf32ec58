import HealthKV

/// What the golden store holds. Never change what is written for a version that has a golden file.
enum GoldenHistory {
    static let day: Int64 = 86_400_000_000_000
    static let phone = Source(
        bundle: "com.example.phone", name: "Phone", version: "1.2", product: "iPhone17,1", system: "18.0")
    static let scale = Source(name: "Scale")

    static func id(_ number: UInt64) -> SampleID {
        SampleID(high: 0x1111_2222_3333_4000 | number >> 48, low: 0x8000_0000_0000_0000 | number)
    }

    /// Steps that fill several chunks, with a gap, an odd nanosecond and values that are no decimals.
    static var steps: SampleBatch {
        var batch = SampleBatch()
        let kind = batch.kind(.stepCount, .count, source: phone)
        let odd = batch.kind(.distanceWalkingRunning, .mile, source: scale, isUserEntered: true)
        var start: Int64 = 700_000_000_000_000_000
        for number in 0..<5_000 as Range<UInt64> {
            start += Int64(number % 97) * 1_000_000_000 + (number == 2_500 ? 40 * day : 0)
            batch.append(
                kind: kind, start: Instant(nanoseconds: start), end: Instant(nanoseconds: start + 600_000_000_000),
                value: Double(number % 400), id: id(number))
            guard number % 5 == 0 else { continue }
            batch.append(
                kind: odd, start: Instant(nanoseconds: start + 1),
                end: Instant(nanoseconds: start + 1 + Int64(number) * 1_000_000_000_000),
                value: Double(number) / 7, id: id(number + 100_000))
        }
        return batch
    }

    /// The same kind of data without ids.
    static var derived: SampleBatch {
        var batch = SampleBatch()
        let kind = batch.kind(.activeEnergyBurned, .kilocalorie, source: phone)
        for number in 0..<500 {
            let start = Instant(nanoseconds: Int64(number / 2) * 60_000_000_000)
            batch.append(kind: kind, start: start, end: start + 60_000_000_000, value: Double(number / 2) / 8)
        }
        return batch
    }

    /// A sample of unknown duration.
    static let openEnded = Sample(
        .basalEnergyBurned, 1, .kilojoule, from: .earliest, to: .distantFuture, source: phone, id: id(900_003))

    /// Samples with every field, special values and both kinds of identity.
    static var singles: [Sample] {
        var full = Sample(
            .bodyMass, 160.25, .pound, from: Instant(nanoseconds: 1), to: Instant(nanoseconds: 1), source: scale,
            id: id(900_001), syncIdentifier: "weight-1", version: 3, isUserEntered: true,
            device: Device(name: "Scale", model: "S1", udiDeviceIdentifier: "00-11"),
            metadata: [
                "text": .string("a\u{0}b"), "number": .number(.pi), "flag": .bool(true), "date": .date(.earliest),
                "quantity": .quantity(Quantity(1.5, .liter)),
            ], group: "morning")
        full.count = 3
        let shadowed = Sample(.bodyMass, 72.5, .kilogram, at: Instant(nanoseconds: 1), source: phone, id: id(900_002))
        let custom = Sample(
            SampleType("com.example.custom"), -0.0, .percent, at: Instant.latest - 1, source: phone, id: id(900_004))
        return [full, shadowed, openEnded, custom]
    }

    /// Makes the golden store: an import, single samples, edits and deletions.
    static func fill(_ store: SampleStore) throws {
        try store.importBatch(steps, job: "golden")
        try store.importBatch(derived)
        try store.write { try $0.save(singles) }
        try store.write { transaction in
            for number in stride(from: 0, to: 5_000, by: 50) as StrideTo<UInt64> {
                try transaction.delete(id: id(number))
            }
            guard var edited = try transaction.sample(id: id(1)) else { return }
            edited.quantity.value = 12_345
            try transaction.save(edited)
        }
        try store.write { transaction in
            try transaction.setPeer(RegisteredPeer(id: "peer", registered: .earliest, lastSeen: .earliest))
            try transaction.setAnchor(
                Anchor(peer: "peer", type: .stepCount, token: [1, 2, 3], time: .earliest, outcome: "ok"))
            try transaction.enqueue(PendingOperation(peer: "peer", kind: .save, sample: id(1), version: 2))
            for number in links { try transaction.setLink(link(number)) }
        }
        // Packs the links, and one more is recent.
        while try store.maintain() {}
        try store.write { try $0.setLink(link(links.upperBound)) }
    }

    static let links: Range<UInt64> = 1..<800

    /// What the peer calls a step: some by their own ids, some of them deleted.
    static func link(_ number: UInt64) -> PeerLink {
        PeerLink(
            peer: "peer", sample: id(number), idAtPeer: number % 40 == 7 ? id(number) : id(number + 1_000_000),
            version: number % 30 == 9 ? -1 : 1 << 52 | Int64(number % 2_000), isProvisional: number % 3 == 0)
    }

    /// A clock that ticks the same in every run.
    static let clock: @Sendable () -> Instant = { Instant(nanoseconds: 790_000_000_000_000_000) }
}
