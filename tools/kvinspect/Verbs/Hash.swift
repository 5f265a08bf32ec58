import HealthKV

/// `kvinspect hash STORE`
enum HashVerb: Verb {
    static let description = VerbDescription(
        name: "hash", abstract: "Print one SHA-256 digest of the store's content.",
        discussion: "Equal content gives equal digests, whatever the layout of the files. Covered are all live samples "
            + "with all their fields, and what was set for types: orders of sources, and whether samples of one time shadow "
            + "each other. In which order samples and sources came does not matter, nor do the feed and the state of sync.",
        arguments: [.store],
        options: [
            OptionDescription(
                name: "content",
                help: "Cover only what was measured or entered: leave out ids, sync identifiers, versions, clocks and "
                    + "origins. Two imports of one file then have equal digests."),
            .format, .progress,
        ])

    static func run(_ arguments: ParsedArguments, _ console: Console) throws -> ExitCode {
        let store = try StoreAccess.openForReading(arguments.store)
        let progress = Progress(arguments, console, unit: "samples")
        var samples = 0
        let digest = try store.read { transaction in
            progress.total = try transaction.count()
            var hash = SHA256()
            var encoder = CanonicalEncoder()
            try encoder.encodeSettings(of: transaction)
            hash.update(encoder.bytes)
            func take(_ bytes: [UInt8]) throws {
                hash.update(bytes)
                samples += 1
                try progress.advance()
            }
            if arguments.flag("content") {
                try forEachContent(in: transaction, take)
            } else {
                try transaction.forEachLiveSample { sample in
                    encoder.removeAll()
                    encoder.encode(sample)
                    try take(encoder.bytes)
                }
            }
            return hash.finalize()
        }
        progress.finish()
        let text = digest.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        try Answer.print(
            [.init("hash", .string(text)), .init("algorithm", .string("SHA-256")), .init("samples", .count(samples))],
            arguments, console
        ) { [text] }
        return .clean
    }

    /// Calls `body` with the content of each live sample, in an order that does not depend on ids.
    private static func forEachContent(
        in transaction: borrowing ReadTransaction, _ body: ([UInt8]) throws -> Void
    ) throws {
        var stream = try SampleStream(nil, .all, in: transaction)
        while true {
            let run = try stream.takeRun(in: transaction)
            if run.isEmpty { return }
            for content in run { try body(content.bytes) }
        }
    }
}

extension CanonicalEncoder {
    /// What was set for types. Each list stands behind its length, so that no two settings have the same bytes.
    fileprivate mutating func encodeSettings(of transaction: borrowing ReadTransaction) throws {
        let priorities = try transaction.priorities().sorted { $0.key < $1.key }
        append(UInt64(priorities.count))
        for (type, order) in priorities {
            append(type.identifier)
            append(UInt64(order.count))
            for place in order { append(place) }
        }
        let shadowing = try transaction.shadowing().sorted { $0.key < $1.key }
        append(UInt64(shadowing.count))
        for (type, isOn) in shadowing {
            append(type.identifier)
            append(isOn ? 1 : 0 as UInt8)
        }
        // Nothing stands here in a store without any, so that its hash is that of earlier releases.
        for definition in try transaction.definitions() {
            append(definition.identifier)
            append(definition.unit.symbol)
            append(definition.combination.rawValue)
            append((definition.lowerBound ?? -.infinity).bitPattern)
            append((definition.upperBound ?? .infinity).bitPattern)
            append(definition.name ?? "")
        }
    }

    fileprivate mutating func append(_ place: RankedSource) {
        append(place.source.bundle)
        append(place.source.name)
        append(place.isUserEntered.map { $0 ? 1 : 2 } ?? 0 as UInt8)
    }
}
