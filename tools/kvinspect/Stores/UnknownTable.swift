import HealthKV

/// A table that no store has: most likely the name is misspelled.
enum UnknownTable {
    /// Refuses a name that no table has, and names the tables whose names are near.
    static func refuse(_ name: String) throws {
        let names = Finding.tableNames
        if names.contains(name) { return }
        let question = Suggestion.question(name, among: names)
        throw Failure("No table is called '\(name)'.\(question)")
    }
}
