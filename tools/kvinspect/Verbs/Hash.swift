import HealthKV

/// `kvinspect hash STORE`
enum HashVerb: Verb {
    static let description = VerbDescription(
        name: "hash", abstract: "Print one SHA-256 digest of the store's content.",
        discussion: "Equal content gives equal digests, whatever the layout of the files. Covered are all live samples "
            + "with all their fields, the order of the sources, and the orders that were set for types.",
        arguments: [.store], options: [.format, .progress])

    static func run(_ arguments: ParsedArguments, _ console: Console) throws -> ExitCode {
        let store = try StoreAccess.openForReading(arguments.store)
        let progress = Progress(arguments, console, unit: "samples")
        var samples = 0
        let digest = try store.read { transaction in
            progress.total = try transaction.count()
            var hash = SHA256()
            var encoder = CanonicalEncoder()
            for source in try transaction.sources() where source.samples > 0 {
                encoder.append(source.source.bundle)
                encoder.append(source.source.name)
            }
            for (type, order) in try transaction.priorities().sorted(by: { $0.key < $1.key }) {
                encoder.append(type.identifier)
                for place in order { encoder.append(place) }
            }
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
    fileprivate mutating func append(_ place: RankedSource) {
        append(place.source.bundle)
        append(place.source.name)
        append(place.isUserEntered.map { $0 ? 1 : 2 } ?? 0 as UInt8)
    }
}
