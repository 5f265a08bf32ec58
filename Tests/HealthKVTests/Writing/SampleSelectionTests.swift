import Testing
import TestSupport

@testable import HealthKV

/// `delete` and `purge` take the same selections, and remove the same samples.
@Suite struct SampleSelectionTests {
    private static let scale = Source(bundle: "org.example.scale", name: "Scale")
    private static let phone = Source(bundle: "org.example.phone", name: "Phone")

    private static let samples: [Sample] = (0..<12).map { number in
        var sample = Sample(
            number % 2 == 0 ? .bodyMass : .dietarySugar, Double(number + 1), number % 2 == 0 ? .kilogram : .gram,
            at: .day(number), source: number < 8 ? scale : phone)
        sample.syncIdentifier = "s\(number)"
        if number % 3 == 0 { sample.group = "meal" }
        sample.metadata = ["batch": .string(number < 6 ? "one" : "two")]
        return sample
    }

    /// Each kind of selection, with the numbers of the samples that it means.
    private static let cases: [(selection: SampleSelection, meant: Set<Int>)] = [
        (.id(samples[3].id), [3]),
        (.id(SampleID()), []),
        (.ids([samples[1].id, samples[4].id, SampleID(), samples[1].id]), [1, 4]),
        (.ids([]), []),
        (.syncIdentifier("s2", of: .bodyMass, source: scale.identity), [2]),
        (.syncIdentifier("s2", of: .dietarySugar, source: scale.identity), []),
        (.syncIdentifier("s2", of: .bodyMass, source: phone.identity), []),
        (.group("meal"), [0, 3, 6, 9]),
        (.group("meal", source: phone.identity), [9]),
        (.group("dinner"), []),
        (.source(scale.identity), Set(0..<8)),
        (.source(SourceIdentity(name: "Nobody")), []),
        (.range(of: .bodyMass, from: .day(2), to: .day(6)), [2, 4]),
        (.range(of: .bodyMass), [0, 2, 4, 6, 8, 10]),
        (.range(of: .bodyMass, from: .day(6), to: .day(2)), []),
        (.range(of: .heartRate), []),
        (.metadata("batch", values: [.string("two")]), Set(6..<12)),
        (.metadata("batch", values: [.string("one"), .string("two")], types: [.bodyMass]), [0, 2, 4, 6, 8, 10]),
        (.metadata("batch", values: []), []),
    ]

    private func withSamples(_ body: (SampleStore) throws -> Void) throws {
        try withStore { store in
            try store.write { txn in
                for sample in Self.samples { try txn.save(sample, orThrow: true) }
                try txn.setPeer(
                    RegisteredPeer(
                        id: "health", registered: .day(0), lastSeen: .day(0), queue: QueueRule(types: nil)))
                for sample in Self.samples {
                    try txn.setLink(PeerLink(peer: "health", sample: sample.id, idAtPeer: SampleID(), version: 1))
                }
            }
            try body(store)
        }
    }

    private func held(_ store: SampleStore) throws -> Set<Int> {
        try store.read { txn in
            Set(try Self.samples.indices.filter { try txn.sample(id: Self.samples[$0].id) != nil })
        }
    }

    @Test("Deleting a selection removes what it means, counts each sample once, and tells each peer")
    func deleted() throws {
        for (selection, meant) in Self.cases {
            try withSamples { store in
                #expect(try store.write { try $0.delete(selection) } == meant.count, "\(selection)")
                #expect(try held(store) == Set(0..<12).subtracting(meant), "\(selection)")
                try store.read { txn in
                    for number in 0..<12 {
                        let isKnown = try txn.deletedSample(id: Self.samples[number].id) != nil
                        #expect(isKnown == meant.contains(number), "\(selection)")
                    }
                    let waiting = try txn.pending().filter { $0.kind == .delete }.map(\.sample)
                    #expect(Set(waiting) == Set(meant.map { Self.samples[$0].id }), "\(selection)")
                }
                try store.expectClean()
            }
        }
    }

    @Test("Purging a selection removes the same without a trace, and an import may bring it back") func purged() throws
    {
        for (selection, meant) in Self.cases {
            try withSamples { store in
                #expect(try store.write { try $0.purge(selection) } == meant.count, "\(selection)")
                #expect(try held(store) == Set(0..<12).subtracting(meant), "\(selection)")
                try store.read { txn in
                    let known = try Self.samples.filter { try txn.deletedSample(id: $0.id) != nil }
                    #expect(known.isEmpty, "\(selection)")
                    let waiting = try txn.pending().filter { $0.kind == .delete }
                    #expect(waiting.isEmpty, "\(selection)")
                }
                try store.write { txn in for number in meant { _ = try txn.save(Self.samples[number]) } }
                #expect(try held(store) == Set(0..<12), "\(selection)")
                try store.expectClean()
            }
        }
    }
}
