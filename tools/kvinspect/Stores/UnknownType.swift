import HealthKV

/// A type that neither the catalog nor the store knows: most likely the name is misspelled.
enum UnknownType {
    /// Refuses an unknown type, and names the types whose names are near.
    static func refuse(_ type: SampleType, in store: SampleStore) throws { try refuse(type, in: [store]) }

    /// A misspelled identifier of HealthKit without its prefix, as the short names have none.
    private static func short(_ identifier: String) -> String {
        let mark = "TypeIdentifier"
        guard identifier.hasPrefix("HK"), let end = identifier.range(of: mark)?.upperBound else { return identifier }
        let rest = identifier[end...]
        return rest.prefix(1).lowercased() + rest.dropFirst()
    }

    /// What is said of a type that a store did not know and now has.
    static func text(ofNew type: SampleType) -> String {
        let names = SampleType.catalog.map(\.shortName)
        let question = Suggestion.question(UnknownType.short(type.identifier), among: names)
        return Table.clean("The type '\(type.identifier)' is new, and Apple Health has none of this name.\(question)")
    }

    /// Refuses a type that none of some stores knows. A file that is read may have types of its own, with identifiers
    /// that are like no other.
    static func refuse(_ type: SampleType, in stores: [SampleStore], orFile: Bool = false) throws {
        if type.catalogNumber != nil { return }
        let known = try stores.flatMap { store in try store.read { try $0.knownTypes() } }
        if known.contains(type) { return }
        let names = Set(SampleType.catalog + known).map(\.shortName)
        let question = Suggestion.question(UnknownType.short(type.identifier), among: names)
        let isMisspelled = Suggestion.closest(to: UnknownType.short(type.identifier), among: Array(names)) != nil
        if orFile, !isMisspelled, type.identifier.hasPrefix("HK") { return }
        throw Failure("No type is called '\(type.identifier)'.\(question) 'kvinspect types' lists those of the store.")
    }
}
