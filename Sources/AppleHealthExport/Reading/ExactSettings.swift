import HealthKV

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// What was set for types in a store, which an exact export carries beside the samples.
struct ExactSettings: Codable, Equatable, Sendable {
    /// The orders of sources, by identifier of the type.
    private var priorities: [String: [RankedSource]]
    /// Whether samples of one time shadow each other, by identifier of the type.
    private var shadowing: [String: Bool]
    /// The types that apps have defined; `nil` if there are none.
    private var definitions: [TypeDefinition]?

    /// Reads what a store has set for types that are wanted; `nil` if that is nothing.
    init?(of transaction: borrowing ReadTransaction, where isWanted: (SampleType) -> Bool) throws {
        priorities = [:]
        shadowing = [:]
        for (type, order) in try transaction.priorities() where isWanted(type) { priorities[type.identifier] = order }
        for (type, isOn) in try transaction.shadowing() where isWanted(type) { shadowing[type.identifier] = isOn }
        let defined = try transaction.definitions().filter { isWanted($0.type) }
        definitions = defined.isEmpty ? nil : defined
        if priorities.isEmpty, shadowing.isEmpty, definitions == nil { return nil }
    }

    /// Reads the text of an attribute; `nil` if it is none of settings.
    init?(_ text: String) {
        guard let settings = try? JSONDecoder().decode(ExactSettings.self, from: Data(text.utf8)),
            (Array(settings.priorities.keys) + settings.shadowing.keys).allSatisfy({
                (try? SampleType($0).validate()) != nil
            })
        else { return nil }
        self = settings
    }

    func text() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(self), as: UTF8.self)
    }

    /// Sets all of it in a store.
    func set(in store: SampleStore) throws {
        let (priorities, shadowing) = (priorities, shadowing)
        try store.write { transaction in
            for (type, order) in priorities { try transaction.setPriority(order, of: SampleType(type)) }
        }
        let known = try store.blockingRead { try $0.shadowing() }
        for (type, isOn) in shadowing where known[SampleType(type)] != isOn {
            try store.setShadowing(of: SampleType(type), isOn)
        }
        // Last, since the store may define a type otherwise.
        for definition in definitions ?? [] { try store.define(definition) }
    }
}
