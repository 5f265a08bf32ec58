import HealthKV

/// A source that the store has not met: most likely its name is misspelled. Unlike a type it is no error to ask for it,
/// since a store meets its sources one by one.
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
        let names = try names(in: transaction, withBundles: takesBundles)
        if !names.contains(name) { console.say(text(name, among: names)) }
    }

    /// Refuses a name that no source has, where an order of sources would be wrong without it.
    static func refuse(_ name: String, in transaction: borrowing ReadTransaction) throws -> Never {
        throw Failure(text(name, among: try names(in: transaction, withBundles: true)))
    }

    private static func names(
        in transaction: borrowing ReadTransaction, withBundles: Bool
    ) throws -> Set<String> {
        let known = try transaction.sourceCounts().map(\.source.identity)
        return Set(known.flatMap { withBundles ? [$0.name, $0.bundle] : [$0.name] }).subtracting([""])
    }

    private static func text(_ name: String, among names: Set<String>) -> String {
        "No source is called '\(Table.clean(name))'.\(Table.clean(Suggestion.question(name, among: names.sorted()))) "
            + "'kvinspect sources' lists those of the store."
    }
}
