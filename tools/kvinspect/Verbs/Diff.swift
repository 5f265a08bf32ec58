import HealthKV

/// `kvinspect diff A B`
enum DiffVerb: Verb {
    private static let first = ArgumentDescription(name: "a", help: "The folder of the first store.", kind: .folder)
    private static let second = ArgumentDescription(name: "b", help: "The folder of the second store.", kind: .folder)

    static let description = VerbDescription(
        name: "diff", abstract: "Show the samples and settings in which two stores differ.",
        discussion:
            "Added is what only the second store has, removed what only the first has; changed names the fields "
            + "that differ. Ends with code 6 if there is a difference. Compared is what 'hash' covers: live samples, "
            + "and what was set for types.",
        arguments: [first, second],
        options: [
            OptionDescription(
                name: OptionDescription.type.name, value: "type",
                help: "Only samples of this type, by HealthKit identifier or short name.", kind: .type),
            .from, .to,
            OptionDescription(
                name: "content",
                help:
                    "Compare only what was measured or entered: leave out ids, sync identifiers, versions, clocks and "
                    + "origins. Two imports of one file are then equal."),
            OptionDescription(
                name: "limit", value: "count", help: "Print at most so many differences; all are counted."),
            OptionDescription(name: "show-values", help: "Also print what differs, in both stores."),
            .format, .zone, .progress,
        ])

    private static let shape = Listing.Shape(
        key: "differences", columns: ["change", "type", "start", "end", "id", "setting", "fields", "a", "b"],
        tableColumns: ["change", "type", "start", "id", "fields"])

    static func run(_ arguments: ParsedArguments, _ console: Console) throws -> ExitCode {
        let (zone, limit) = (try arguments.zone(), try arguments.count("limit") ?? .max)
        let range = try arguments.range(in: zone)
        let type = arguments.text(OptionDescription.type.name) == nil ? nil : try arguments.type()
        let one = try StoreAccess.openForReading(arguments.argument(first.name))
        // One store has no two handles with a read inside the other.
        let names = (arguments.argument(first.name), arguments.argument(second.name))
        let isSame = StoreAccess.isSame(names.0, names.1)
        // The second path is held to the same rules as the first.
        if isSame { _ = try StoreAccess.openForReading(names.1) }
        let other = isSame ? nil : try StoreAccess.openForReading(arguments.argument(second.name))
        if let type { try UnknownType.refuse(type, in: [one] + (other.map { [$0] } ?? [])) }
        let progress = Progress(arguments, console, unit: "samples")
        // A reader that closes the output ends the comparison.
        var (count, isWhole) = (DifferenceCount(), false)
        try OutputClosed.end {
            try Listing.print(shape, arguments, console) { listing in
                var printer = DifferencePrinter(
                    limit: limit, zone: zone, showsValues: arguments.flag("show-values"))
                defer { count = printer.count }
                func compare(_ a: borrowing ReadTransaction, _ b: borrowing ReadTransaction) throws {
                    let samples = try (a.count(), b.count())
                    progress.total = samples.0 + samples.1
                    let merge = StoreMerge(type: type, range: range, progress: progress)
                    if range == .all { try merge.compareSettings(a, b) { try printer.print($0, to: &listing) } }
                    if arguments.flag("content") {
                        try merge.compareContent(a, b) { try printer.print($0, to: &listing) }
                    } else {
                        try merge.compareSamples(a, b) { try printer.print($0, to: &listing) }
                    }
                }
                if let other {
                    try one.read { a in try other.read { b in try compare(a, b) } }
                } else {
                    // It is read nevertheless, and may be damaged.
                    try one.read { a in try compare(a, a) }
                }
                isWhole = true
                return printer.count.fields
            }
        }
        progress.finish()
        console.say(isWhole ? count.text : "The output was closed before the stores were compared to their ends.")
        return isWhole && count.isEmpty ? .clean : .different
    }
}

/// One difference between two stores.
enum Difference {
    case added(Sample)
    case removed(Sample)
    case changed(from: Sample, to: Sample)
    /// What was set for a type: an order of sources, or whether samples of one time shadow each other.
    case setting(String, SampleType, from: String?, to: String?)
}

/// How many differences there are.
struct DifferenceCount {
    var (added, removed, changed, settings) = (0, 0, 0, 0)

    var isEmpty: Bool { added + removed + changed + settings == 0 }

    var fields: [JSONValue.Field] {
        [
            .init("identical", .bool(isEmpty)), .init("added", .count(added)), .init("removed", .count(removed)),
            .init("changed", .count(changed)), .init("settings", .count(settings)),
        ]
    }

    var text: String {
        isEmpty
            ? "The stores hold the same."
            : "The stores differ: \(added) added, \(removed) removed, \(changed) changed, \(settings) settings."
    }

    mutating func add(_ difference: Difference) {
        switch difference {
        case .added: added += 1
        case .removed: removed += 1
        case .changed: changed += 1
        case .setting: settings += 1
        }
    }
}

/// Prints differences up to a limit, and counts all.
private struct DifferencePrinter {
    let limit: Int
    let zone: Zone
    let showsValues: Bool
    private(set) var count = DifferenceCount()
    private var printed = 0

    init(limit: Int, zone: Zone, showsValues: Bool) {
        (self.limit, self.zone, self.showsValues) = (limit, zone, showsValues)
    }

    mutating func print(_ difference: Difference, to listing: inout Listing) throws {
        count.add(difference)
        guard printed < limit else { return }
        printed += 1
        try listing.append(.object(fields(of: difference)))
    }

    private func fields(of difference: Difference) -> [JSONValue.Field] {
        switch difference {
        case .added(let sample): head("added", sample) + values(nil, tree(sample))
        case .removed(let sample): head("removed", sample) + values(tree(sample), nil)
        case .changed(let one, let other): changed(one, other)
        case .setting(let name, let type, let one, let other):
            [
                .init("change", .string(one == nil ? "added" : other == nil ? "removed" : "changed")),
                .init("type", .string(type.identifier)), .init("setting", .string(name)),
            ] + values(one.map { .string($0) }, other.map { .string($0) }, isValue: false)
        }
    }

    private func head(_ change: String, _ sample: Sample) -> [JSONValue.Field] {
        [
            .init("change", .string(change)), .init("id", .string(sample.id.description)),
            .init("type", .string(sample.type.identifier)), .init("start", .optional(sample.start, in: zone)),
            .init("end", .optional(sample.end, in: zone)),
        ]
    }

    private func changed(_ one: Sample, _ other: Sample) -> [JSONValue.Field] {
        let (before, after) = (tree(one), tree(other))
        let names = (keys(before) + keys(after).filter { before[$0] == nil }).filter { before[$0] != after[$0] }
        func part(_ tree: JSONValue) -> JSONValue {
            .object(names.compactMap { name in tree[name].map { .init(name, $0) } })
        }
        return head("changed", other) + [.init("fields", .array(names.map { .string($0) }))]
            + values(part(before), part(after))
    }

    private func keys(_ tree: JSONValue) -> [String] {
        guard case .object(let fields) = tree else { return [] }
        return fields.map(\.key)
    }

    private func tree(_ sample: Sample) -> JSONValue {
        var builder = JSONTreeBuilder()
        SampleRecord(sample: sample, detail: .lossless).write(to: &builder)
        return builder.value
    }

    /// Both sides, if values were asked for, or if they are none of health.
    private func values(_ one: JSONValue?, _ other: JSONValue?, isValue: Bool = true) -> [JSONValue.Field] {
        guard showsValues || !isValue else { return [] }
        return [one.map { .init("a", $0) }, other.map { .init("b", $0) }].compactMap(\.self)
    }
}

/// Reads two stores side by side, in one pass over each.
private struct StoreMerge {
    let type: SampleType?
    let range: TimeRange
    let progress: Progress

    /// Compares samples by their ids. A sample whose time differs stands elsewhere in the other store, so what seems to
    /// be missing is looked up there.
    func compareSamples(
        _ a: borrowing ReadTransaction, _ b: borrowing ReadTransaction, _ tell: (Difference) throws -> Void
    ) throws {
        var one = try SampleStream(type.map { [$0] }, range, in: a)
        var other = try SampleStream(type.map { [$0] }, range, in: b)
        while true {
            let (left, right) = (try one.peek(in: a), try other.peek(in: b))
            if let left, let right, left.id == right.id, left.hasSameTime(as: right) {
                if SampleContent.differs(left, right) { try tell(.changed(from: left, to: right)) }
                one.take()
                other.take()
                try progress.advance(by: 2)
            } else if let left, right.map({ left.precedes($0) }) ?? true {
                if let moved = try b.sample(id: left.id) {
                    try tell(.changed(from: left, to: moved))
                } else {
                    try tell(.removed(left))
                }
                one.take()
                try progress.advance()
            } else if let right {
                // A sample that the first store has elsewhere was told there, unless it is outside of the range.
                let held: Sample?
                do { held = try a.sample(id: right.id) } catch { throw a.named(error) }
                if let held {
                    if !isInside(held) { try tell(.changed(from: held, to: right)) }
                } else {
                    try tell(.added(right))
                }
                other.take()
                try progress.advance()
            } else {
                return
            }
        }
    }

    private func isInside(_ sample: Sample) -> Bool {
        sample.start >= range.from && sample.start < range.to && type.map { $0 == sample.type } ?? true
    }

    /// Compares samples by what was measured: those of one type and time in both stores, however many.
    func compareContent(
        _ a: borrowing ReadTransaction, _ b: borrowing ReadTransaction, _ tell: (Difference) throws -> Void
    ) throws {
        var one = try SampleStream(type.map { [$0] }, range, in: a)
        var other = try SampleStream(type.map { [$0] }, range, in: b)
        while true {
            let (left, right) = (try one.peek(in: a), try other.peek(in: b))
            if left == nil, right == nil { return }
            let takesLeft = left.map { left in right.map { left.isNoLater(than: $0) } ?? true } ?? false
            let takesRight = right.map { right in left.map { right.isNoLater(than: $0) } ?? true } ?? false
            let before = takesLeft ? try one.takeRun(in: a) : []
            let after = takesRight ? try other.takeRun(in: b) : []
            try compare(before, after, tell)
            try progress.advance(by: before.count + after.count)
        }
    }

    private func compare(
        _ before: [ContentOfSample], _ after: [ContentOfSample], _ tell: (Difference) throws -> Void
    ) throws {
        var (left, right) = (before[...], after[...])
        while !left.isEmpty || !right.isEmpty {
            if let one = left.first, let other = right.first, one.bytes == other.bytes {
                left.removeFirst()
                right.removeFirst()
            } else if let one = left.first,
                right.first.map({ one.bytes.lexicographicallyPrecedes($0.bytes) }) ?? true
            {
                try tell(.removed(one.sample))
                left.removeFirst()
            } else if let other = right.first {
                try tell(.added(other.sample))
                right.removeFirst()
            }
        }
    }

    func compareSettings(
        _ a: borrowing ReadTransaction, _ b: borrowing ReadTransaction, _ tell: (Difference) throws -> Void
    ) throws {
        try compare("priorities", try orders(in: a), try orders(in: b), tell)
        let switches = (try a.shadowing().mapValues { "\($0)" }, try b.shadowing().mapValues { "\($0)" })
        try compare("shadowing", switches.0, switches.1, tell)
        try compare("definition", try definitions(in: a), try definitions(in: b), tell)
    }

    private func definitions(in transaction: borrowing ReadTransaction) throws -> [SampleType: String] {
        let all = try transaction.definitions().map { ($0.type, "\($0)") }
        return Dictionary(all) { $1 }
    }

    private func orders(in transaction: borrowing ReadTransaction) throws -> [SampleType: String] {
        try transaction.priorities().mapValues { order in
            order.map { place in
                let entered = place.isUserEntered.map { $0 ? " (entered)" : " (measured)" } ?? ""
                return place.source.name + entered
            }.joined(separator: ", ")
        }
    }

    private func compare(
        _ name: String, _ one: [SampleType: String], _ other: [SampleType: String], _ tell: (Difference) throws -> Void
    ) throws {
        for key in Set(one.keys).union(other.keys).sorted() where one[key] != other[key] {
            if let type, type != key { continue }
            try tell(.setting(name, key, from: one[key], to: other[key]))
        }
    }
}

/// Whether two samples differ in anything that a dump carries.
private enum SampleContent {
    static func differs(_ one: Sample, _ other: Sample) -> Bool { bytes(of: one) != bytes(of: other) }

    private static func bytes(of sample: Sample) -> [UInt8] {
        var encoder = CanonicalEncoder()
        encoder.encode(sample)
        return encoder.bytes
    }
}
