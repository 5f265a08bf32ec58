import HealthKV

/// A table that no store has: most likely the name is misspelled.
enum UnknownTable {
    private static let suggestions = 3

    /// Refuses a name that no table has, and names the tables whose names are near.
    static func refuse(_ name: String) throws {
        let names = Finding.tableNames
        if names.contains(name) { return }
        let near = Suggestion.near(to: name, among: names, limit: suggestions)
        let question = near.isEmpty ? "" : " Did you mean \(near.map { "'\($0)'" }.joined(separator: " or "))?"
        throw Failure("No table is called '\(name)'.\(question)")
    }
}
