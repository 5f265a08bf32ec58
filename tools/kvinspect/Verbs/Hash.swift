import HealthKV

/// `kvinspect hash STORE`
enum HashVerb: Verb {
    static let description = VerbDescription(
        name: "hash", abstract: "Print one SHA-256 digest of the store's content.",
        discussion: "Equal content gives equal digests, whatever the layout of the files. Covered are all live samples "
            + "with all their fields, the order of the sources, and what was set for types: orders of sources, and whether "
            + "samples of one time shadow each other.",
        arguments: [.store], options: [.format, .progress])

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
            try transaction.forEachLiveSample { sample in
                encoder.removeAll()
                encoder.encode(sample)
                hash.update(encoder.bytes)
                samples += 1
                try progress.advance()
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
}

extension CanonicalEncoder {
    /// The order of the sources, and what was set for types.
    fileprivate mutating func encodeSettings(of transaction: borrowing ReadTransaction) throws {
        for source in try transaction.sourceCounts() where source.samples > 0 {
            append(source.source.bundle)
            append(source.source.name)
        }
        for (type, order) in try transaction.priorities().sorted(by: { $0.key < $1.key }) {
            append(type.identifier)
            for place in order { append(place) }
        }
        for (type, isOn) in try transaction.shadowing().sorted(by: { $0.key < $1.key }) {
            append(type.identifier)
            append(isOn ? 4 : 3 as UInt8)
        }
    }

    fileprivate mutating func append(_ place: RankedSource) {
        append(place.source.bundle)
        append(place.source.name)
        append(place.isUserEntered.map { $0 ? 1 : 2 } ?? 0 as UInt8)
    }
}
