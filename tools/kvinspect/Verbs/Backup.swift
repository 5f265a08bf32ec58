import HealthKV

/// `kvinspect backup STORE DEST`
enum BackupVerb: Verb {
    static let description = VerbDescription(
        name: "backup", abstract: "Copy a store while others use it.",
        discussion: "The copy is one snapshot, synced before the verb ends. \(StoreCopy.verification)",
        arguments: [.store, .destination], options: [.format, .progress])

    static func run(_ arguments: ParsedArguments, _ console: Console) throws -> ExitCode {
        try StoreCopy.run(arguments, console, what: "a copy", size: \.fileBytes) {
            try $0.backup(to: $1, progress: $2)
        }
    }
}

extension ArgumentDescription {
    static let destination = ArgumentDescription(
        name: "dest", help: "The folder for the copy; it is made.", kind: .folder)
}

/// What backup and compact share: say what is written, write it, read it back, say how large it is.
enum StoreCopy {
    static let verification =
        "Its pages and values are read back. If some are damaged, as in the store, the copy stays and the verb ends "
        + "with code 2."

    static func run(
        _ arguments: ParsedArguments, _ console: Console, what: String, size: (StoreInfo) -> Int,
        _ copy: (SampleStore, String, @escaping (Int) -> Bool) throws -> Void
    ) throws -> ExitCode {
        let store = try StoreAccess.openForCopying(arguments.store)
        let destination = arguments.argument(ArgumentDescription.destination.name)
        try StoreAccess.refuseTaken(destination)
        console.say("Writing \(what) of \(arguments.store) to \(destination).")
        let info = try store.info()
        let before = info.fileBytes
        let progress = Progress(arguments, console, unit: "bytes", total: size(info))
        do {
            try copy(store, destination) { bytes in (try? progress.advance(to: bytes)) != nil }
        } catch let error as StoreError where error.code == .cancelled {
            try Interruption.check()
            throw error
        }
        // The copy is complete, so it is kept even if the checks fail.
        let after = try StoreAccess.openForCopying(destination).info().fileBytes
        let damage: (pages: Int, values: Int)
        do {
            damage = try SampleStore.countDamage(in: destination) { try Interruption.check() }
        } catch let error as Interruption {
            console.say("The copy in \(destination) is complete. It was not read back.")
            throw error
        }
        progress.finish(at: after)
        try Answer.print(
            [
                .init("store", .string(arguments.store)), .init("destination", .string(destination)),
                .init("bytes_before", .count(before)), .init("bytes", .count(after)),
                .init("damaged_values", .count(damage.values)), .init("page_findings", .count(damage.pages)),
            ], arguments, console
        ) { ["\(Table.clean(destination)): \(ByteSize.text(after)), the store has \(ByteSize.text(before))."] }
        let values = damage.values == 1 ? "1 value" : "\(damage.values) values"
        let findings = damage.pages == 1 ? "1 finding is" : "\(damage.pages) findings are"
        var told = damage.values == 0 ? [] : ["\(values) of the copy cannot be read"]
        if damage.pages > 0 { told.append("\(findings) about pages of the copy") }
        if told.isEmpty { return .clean }
        console.say("Damaged: \(told.joined(separator: ", and ")); 'kvinspect check' prints details.")
        return .damage
    }
}
