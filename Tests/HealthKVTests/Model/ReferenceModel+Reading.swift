@testable import HealthKV

/// Reading: filters over everything that lives.
extension ReferenceModel {
    func shadows(_ type: SampleType) -> Bool { shadowing[type] ?? type.shadowsDuplicates }

    /// The latest time of writing, then the rank of the source (A20), then the id.
    private func isBetter(_ left: Sample, than right: Sample) -> Bool {
        let (leftTime, rightTime) = (written(left), written(right))
        if leftTime != rightTime { return leftTime > rightTime }
        let (leftKind, rightKind) = (kind(left), kind(right))
        if leftKind != rightKind { return leftKind < rightKind }
        let (leftPlace, rightPlace) = (place(left), place(right))
        if leftPlace != rightPlace { return leftPlace > rightPlace }
        return left.id > right.id
    }

    /// Nothing imported was written before its end, unless an export says so, whose times have no replica.
    private func written(_ sample: Sample) -> Instant {
        let time = sample.modified!.time
        if sample.modified!.replica == 0, time != Instant(nanoseconds: 0) { return time }
        return sample.origin == .imported && !sample.isOpenEnded ? max(sample.end, time) : time
    }

    /// Entered by the user, then watch, then phone, then others.
    private func kind(_ sample: Sample) -> Int {
        if sample.isUserEntered { return 0 }
        // Apps name the device that they run on; only what the system counts is the device's.
        guard sample.source.bundle.isEmpty || sample.source.bundle.hasPrefix("com.apple.health") else { return 3 }
        let product = sample.source.product ?? ""
        return product.hasPrefix("Watch") ? 1 : product.hasPrefix("iPhone") ? 2 : 3
    }

    private func place(_ sample: Sample) -> Int { sources.firstIndex(of: sample.source.identity) ?? -1 }

    /// All samples of a type with their shadow marks, by start, end and id.
    func all(_ type: SampleType) -> [Sample] {
        let samples = live.values.filter { $0.type == type }
        let marked = Dictionary(grouping: samples) { TimeRange(from: $0.start, to: $0.end) }.values.flatMap { mark($0) }
        return marked.sorted { ($0.start, $0.end, $0.id) < ($1.start, $1.end, $1.id) }
    }

    /// C2: of samples of one type, start and end one shows.
    private func mark(_ rivals: [Sample]) -> [Sample] {
        guard rivals.count > 1, shadows(rivals[0].type) else { return rivals }
        return rivals.map { sample in
            var sample = sample
            sample.isShadowed = rivals.contains { $0.id != sample.id && isBetter($0, than: sample) }
            return sample
        }
    }

    /// A18. A sample covers its start and all instants before its end; one of zero length covers its start.
    static func picks(_ sample: Sample, _ from: Instant, _ to: Instant, _ rule: RangeRule) -> Bool {
        guard from < to else { return false }
        switch rule {
        case .overlap:
            if sample.start == sample.end { return sample.start >= from && sample.start < to }
            return sample.start < to && sample.end > from
        case .strictStart: return sample.start >= from && sample.start < to
        case .strictEnd: return sample.end >= from && sample.end < to
        }
    }

    func samples(_ query: Query) -> [Sample] {
        var samples = all(query.type).filter { sample in
            (query.includeShadowed || !sample.isShadowed)
                && (query.source == nil || sample.source.identity == query.source)
                && ReferenceModel.picks(sample, query.from, query.to, query.rule)
        }
        if query.order == .descending { samples.reverse() }
        if let limit = query.limit { samples = Array(samples.prefix(max(0, limit))) }
        return samples
    }

    func sample(_ id: SampleID) -> Sample? {
        guard let sample = live[id] else { return nil }
        let rivals = live.values.filter { $0.type == sample.type && $0.start == sample.start && $0.end == sample.end }
        return mark(rivals).first { $0.id == id }
    }

    func samples(syncIdentifier: String) -> [Sample] {
        live.values.filter { $0.syncIdentifier == syncIdentifier }.compactMap { sample($0.id) }
    }

    func samples(group: String) -> [Sample] {
        live.values.filter { $0.group == group }.compactMap { sample($0.id) }
    }
}

/// One range read with all its parameters.
struct Query {
    var type: SampleType
    var from = Instant.distantPast
    var to = Instant.distantFuture
    var rule = RangeRule.overlap
    var order = SampleOrder.ascending
    var limit: Int?
    var source: SourceIdentity?
    var includeShadowed = false
}
