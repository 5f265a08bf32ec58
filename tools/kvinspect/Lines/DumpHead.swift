import HealthKV

/// The settings of a dump, or a part of them. They are the field `dump` of the first sample's line. Parts that do not
/// fit there, and the settings of a dump without samples, have lines of their own.
struct DumpHead {
    /// The version of the lines. A greater one is refused.
    static let version: Int64 = 1
    /// Sources that a line may have. With a kind for every line of a batch these are still fewer than a batch can hold.
    static let sourceLimit = 16_384
    /// Sources after which another part begins: far more than histories have.
    static let partSources = 4_096
    /// Text after which another part begins: far less than a line may have.
    private static let textLimit = 1 << 20

    /// All that the store has met, in the order in which it first saw them, which ranks them.
    var sources: [Source] = []

    /// The orders of sources that were set.
    var priorities: [SampleType: [RankedSource]] = [:]

    /// The types for which it was set whether samples of one time shadow each other.
    var shadowing: [SampleType: Bool] = [:]

    /// The types that apps have defined.
    var definitions: [TypeDefinition] = []

    /// Roughly how much there is to write.
    private var text = 0

    init(sources: [Source] = []) { self.sources = sources }

    var isEmpty: Bool { sources.isEmpty && priorities.isEmpty && shadowing.isEmpty && definitions.isEmpty }

    /// The head of a dump in parts that fit on a line each; one where nothing is extreme, and never none.
    static func parts(
        of transaction: borrowing ReadTransaction, sourceLimit: Int = partSources
    ) throws -> [DumpHead] {
        var parts = [DumpHead()]
        func add(_ cost: Int, _ add: (inout DumpHead) -> Void) {
            if parts[parts.count - 1].text > textLimit || parts[parts.count - 1].sources.count == sourceLimit {
                parts.append(DumpHead())
            }
            add(&parts[parts.count - 1])
            parts[parts.count - 1].text += cost
        }
        for source in try transaction.sourceCounts() {
            add(DumpHead.cost(of: source.source.identity)) { $0.sources.append(source.source) }
        }
        for (type, order) in try transaction.priorities().sorted(by: { $0.key < $1.key }) {
            add(order.reduce(0) { $0 + DumpHead.cost(of: $1.source) }) { $0.priorities[type] = order }
        }
        for (type, isOn) in try transaction.shadowing().sorted(by: { $0.key < $1.key }) {
            add(type.identifier.utf8.count) { $0.shadowing[type] = isOn }
        }
        // Before all samples, which the definitions concern.
        parts[0].definitions = try transaction.definitions()
        return parts
    }

    private static func cost(of source: SourceIdentity) -> Int { source.name.utf8.count + source.bundle.utf8.count }

    func write(to sink: inout some JSONSink) {
        sink.key(.dump)
        sink.beginObject()
        sink.field("version", DumpHead.version)
        sink.key("sources")
        sink.beginArray()
        for source in sources { sink.source(source) }
        sink.endArray()
        if !priorities.isEmpty { writePriorities(to: &sink) }
        if !shadowing.isEmpty {
            sink.key("shadowing")
            sink.beginObject()
            for (type, isOn) in shadowing.sorted(by: { $0.key < $1.key }) { sink.field(type.identifier, isOn) }
            sink.endObject()
        }
        if !definitions.isEmpty { writeDefinitions(to: &sink) }
        sink.endObject()
    }

    private func writeDefinitions(to sink: inout some JSONSink) {
        sink.key("definitions")
        sink.beginArray()
        for definition in definitions {
            sink.beginObject()
            sink.field("identifier", definition.identifier)
            sink.field("unit", definition.unit.symbol)
            sink.field("combining", definition.combination.rawValue)
            for (name, bound) in [("from", definition.lowerBound), ("to", definition.upperBound)] {
                guard let bound else { continue }
                sink.key(name)
                sink.double(bound)
            }
            sink.field("name", optional: definition.name)
            sink.endObject()
        }
        sink.endArray()
    }

    private func writePriorities(to sink: inout some JSONSink) {
        sink.key("priorities")
        sink.beginObject()
        for (type, order) in priorities.sorted(by: { $0.key < $1.key }) {
            sink.key(type.identifier)
            sink.beginArray()
            for place in order {
                sink.beginObject()
                sink.key(.source)
                sink.source(Source(bundle: place.source.bundle, name: place.source.name))
                if let isUserEntered = place.isUserEntered { sink.field("userEntered", isUserEntered) }
                sink.endObject()
            }
            sink.endArray()
        }
        sink.endObject()
    }
}
