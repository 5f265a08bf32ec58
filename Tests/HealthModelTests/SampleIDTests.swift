import Testing

@testable import HealthModel

/// Ids: UUIDs and their text, random ids, and ids derived from content.
@Suite struct SampleIDTests {
    @Test("The text is that of a UUID, and letters may be upper or lower case")
    func text() {
        let id = SampleID(high: 0x0123_4567_89AB_CDEF, low: 0xFEDC_BA98_7654_3210)
        #expect(id.description == "01234567-89AB-CDEF-FEDC-BA9876543210")
        #expect(SampleID("01234567-89AB-CDEF-FEDC-BA9876543210") == id)
        #expect(SampleID("01234567-89ab-cdef-fedc-ba9876543210") == id)
        #expect(SampleID.zero.description == "00000000-0000-0000-0000-000000000000")
        #expect(SampleID.max.description == "FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF")
    }

    @Test("Text that is not a UUID is refused")
    func malformed() {
        let texts = [
            "", "0", "01234567-89AB-CDEF-FEDC-BA987654321", "01234567-89AB-CDEF-FEDC-BA98765432100",
            "0123456789ABCDEFFEDCBA9876543210", "01234567-89AB-CDEF-FEDC-BA987654321G",
            "0123456789AB-CDEF-FEDC-BA9876543210-",
            "{01234567-89AB-CDEF-FEDC-BA9876543210}", " 1234567-89AB-CDEF-FEDC-BA9876543210",
            "01234567+89AB+CDEF+FEDC+BA9876543210",
            "01234567-89AB-CDEF-FEDC-BA987654321é",
        ]
        for text in texts { #expect(SampleID(text) == nil, "\(text)") }
    }

    @Test("Random ids are of version 4, differ, and sort like their texts")
    func random() {
        let ids = (0..<200).map { _ in SampleID() }
        #expect(Set(ids).count == ids.count)
        for (left, right) in zip(ids, ids.dropFirst()) {
            #expect(left.high >> 12 & 0xF == 4)
            #expect(left.low >> 62 == 2)
            #expect((left < right) == (left.description < right.description))
            #expect(SampleID(left.description) == left)
        }
    }
}

@Suite struct DerivedIDTests {
    private let phone = SourceIdentity(bundle: "com.apple.health.1", name: "Phone")

    private func id(
        _ type: SampleType = .stepCount, start: Int64 = 700_000_000_000_000_000, end: Int64 = 700_000_060_000_000_000,
        value: Double = 12, multiplicity: Int = 0, source: SourceIdentity? = nil
    ) -> SampleID {
        DerivedID.id(
            DerivedID.Prefix(type: type, source: source ?? phone), start: start, end: end, value: value,
            multiplicity: multiplicity)
    }

    @Test("Derived ids have not changed: another program computed them from the description of the format")
    func golden() {
        #expect(id().description == "649489B6-E64A-88EC-9800-02A7C065D8F0")
        #expect(id(multiplicity: 1).description == "649489B6-E64A-88EC-9800-03DC73188C8F")
        let earliest = Instant.earliest.nanoseconds
        let weight = id(
            .bodyMass, start: earliest, end: earliest, value: 72.4, source: SourceIdentity(name: "Zo\u{EB}"))
        #expect(weight.description == "0023008F-09BE-8D2C-B800-0276A90EC47A")
    }

    @Test("A derived id has 16 bits of type, 64 bits of start, and version 8 and variant in their places")
    func layout() {
        let starts: [Int64] = [.min, -1, 0, 1, 0x0123_4567_89AB_CDEF, .max, Instant.earliest.nanoseconds]
        for start in starts {
            let id = id(start: start, end: .max)
            #expect(DerivedID.isDerived(id))
            #expect(DerivedID.start(of: id).nanoseconds == start)
            #expect(DerivedID.typeBits(of: id) == DerivedID.Prefix(type: .stepCount, source: phone).type & 0xFFFF)
            #expect(id.high >> 12 & 0xF == 8)
            #expect(id.low >> 62 == 2)
        }
        // Ids of one type sort by start, so that a column of them compresses well.
        for (left, right) in zip(starts.sorted(), starts.sorted().dropFirst()) {
            #expect(id(start: left) < id(start: right))
        }
        #expect(!DerivedID.isDerived(SampleID()))
    }

    @Test("Any difference in the content gives another id")
    func differs() {
        let ids = [
            id(), id(.bodyMass), id(start: 700_000_000_000_000_001), id(end: 700_000_060_000_000_001), id(value: 12.5),
            id(multiplicity: 1), id(multiplicity: 2), id(source: SourceIdentity(name: "Phone")),
            id(source: SourceIdentity(bundle: "com.apple.health", name: "Phone")), id(value: -0.0), id(value: 0),
            id(value: .nan), id(value: Double(nan: 3, signaling: false)),
            // A bundle is no name.
            id(source: SourceIdentity(name: "com.apple.health.1")),
        ]
        #expect(Set(ids).count == ids.count)
        // An app that gets a new name is the same app.
        #expect(id(source: SourceIdentity(bundle: "com.apple.health.1", name: "Telefon")) == id())
    }

    @Test("The same weight in another unit gets the same id; a type without canonical unit uses the value as entered")
    func canonical() {
        #expect(DerivedID.canonical(1, .kilogram, of: .bodyMass) == DerivedID.canonical(1_000, .gram, of: .bodyMass))
        #expect(DerivedID.canonical(5, .pound, of: SampleType("org.example.mood")) == 5)
        #expect(DerivedID.canonical(5, .count, of: .bodyMass) == 5)
    }
}
