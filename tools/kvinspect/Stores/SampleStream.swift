import HealthKV

/// The live samples of one store, a page at a time, in the order of `dump`: so two stores can be read side by side.
struct SampleStream {
    private static let pageSize = 512

    private let range: TimeRange
    private var types: ArraySlice<SampleType>
    private var place: SamplePlace?
    private var page: ArraySlice<Sample> = []

    /// - Parameter types: the types to read; `nil` for all.
    init(
        _ types: [SampleType]?, _ range: TimeRange, in transaction: borrowing ReadTransaction
    ) throws {
        let live: [SampleType]
        do { live = try transaction.liveTypes() } catch { throw transaction.named(error) }
        self.types = types.map { wanted in live.filter { wanted.contains($0) }[...] } ?? live[...]
        self.range = range
    }

    /// Returns the next sample without taking it; `nil` at the end.
    mutating func peek(in transaction: borrowing ReadTransaction) throws -> Sample? {
        while page.isEmpty, let type = types.first {
            let query = SampleQuery(
                type, from: range.from, to: range.to, rule: .strictStart, includeShadowed: true)
            do {
                let found = try transaction.page(query, size: SampleStream.pageSize, after: place)
                (page, place) = (found.samples[...], found.next)
            } catch {
                throw transaction.named(error)
            }
            if place == nil { types.removeFirst() }
        }
        return page.first
    }

    mutating func take() { page.removeFirst() }

    /// Takes all samples of the same type, start and end as the next one, sorted by content; none at the end.
    mutating func takeRun(in transaction: borrowing ReadTransaction) throws -> [ContentOfSample] {
        guard let first = try peek(in: transaction) else { return [] }
        var run: [ContentOfSample] = []
        while let sample = try peek(in: transaction), sample.hasSameTime(as: first) {
            run.append(ContentOfSample(sample))
            take()
        }
        if run.count > 1 { run.sort { $0.bytes.lexicographicallyPrecedes($1.bytes) } }
        return run
    }
}

/// A sample with the canonical bytes of what somebody measured or entered: without id, sync identifier, version, clock,
/// origin and the number among identical samples, so that two imports of one file have equal content.
struct ContentOfSample {
    let sample: Sample
    let bytes: [UInt8]

    init(_ sample: Sample) {
        self.sample = sample
        var plain = sample
        plain.multiplicity = 0
        // The version of an import that is overlaid is part of the content's encoding.
        plain.original?.version = 0
        bytes = plain.contentBytes
    }
}

extension Sample {
    /// The order of `dump`.
    func precedes(_ other: Sample) -> Bool {
        if type != other.type { return type < other.type }
        return (start, end, id) < (other.start, other.end, other.id)
    }

    func hasSameTime(as other: Sample) -> Bool { type == other.type && start == other.start && end == other.end }

    /// Whether the other sample is of the same type and time or comes later in the order of `dump`.
    func isNoLater(than other: Sample) -> Bool { hasSameTime(as: other) || precedes(other) }
}
