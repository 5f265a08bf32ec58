import HealthKV

/// A source that the store has not met: most likely its name is misspelled. Unlike a type it is no error, since a store
/// meets its sources one by one.
enum UnknownSource {
    /// Says that no source has this name, and which names are near. Nothing is said of `nil`.
    ///
    /// - Parameter takesBundles: whether a source may be named by its bundle, too.
    static func mention(
        _ name: String?, takesBundles: Bool = true, in transaction: borrowing ReadTransaction, _ console: Console
    ) throws {
        guard let name else { return }
        let found = try transaction.sources(named: name)
        if found.contains(where: { takesBundles || $0.bundle != name }) { return }
        let known = try transaction.sourceCounts().map(\.source.identity)
        let names = Set(known.flatMap { takesBundles ? [$0.name, $0.bundle] : [$0.name] }).subtracting([""])
        if names.contains(name) { return }
        console.say(
            "No source is called '\(Table.clean(name))'.\(Table.clean(Suggestion.question(name, among: names.sorted()))) "
                + "'kvinspect sources' lists those of the store.")
    }
}
