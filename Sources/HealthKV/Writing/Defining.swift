import HealthModel

/// Defines types of an app's own.
enum Defining {
    /// Adds a definition to the store, or replaces one that gives values the same meaning.
    static func define(_ definition: TypeDefinition, in txn: inout WriteTransaction) throws {
        try definition.validate()
        let path = txn.context.path
        let known = txn.state.definitions[definition.identifier]
        if known == definition { return }
        if let known, !known.means(the: definition) {
            throw StoreError(
                .invalidArgument, path: path,
                "\(definition.identifier) is defined in \(known.unit), combining by \(known.combination.rawValue), "
                    + "and what is stored follows from that. Define another type")
        }
        guard known != nil || txn.state.definitions.count < DefinitionTable.limit else {
            throw StoreError(.invalidArgument, path: path, "A store can define \(DefinitionTable.limit) types")
        }
        let number = try NameTable.number(of: definition.type, in: txn.snapshot)
        if let number, known == nil { try checkUnits(of: number, definition, in: txn) }
        txn.state.definitions[definition.identifier] = definition
        txn.state.header.definitions = DefinitionTable.mark(of: DefinitionTable.fields(txn.state.definitions))
        txn.state.changesDefinitions = true
        txn.state.isChanged = true
        // No summaries were kept of a type without a definition.
        if let number, known == nil { try PriorityTable.markAllStale(number, in: &txn) }
    }

    /// Throws if another store of the process defines the type otherwise.
    static func refuseContradiction(_ definition: TypeDefinition, path: String) throws(StoreError) {
        guard DefinedTypes.contradict(definition) else { return }
        throw StoreError(
            .conflictingTypes, path: path,
            "\(definition.identifier) has another unit, or combines otherwise, in another store of this process")
    }

    /// Throws if the store has samples of a type in units that its definition cannot convert.
    private static func checkUnits(
        of number: UInt32, _ definition: TypeDefinition, in txn: borrowing WriteTransaction
    ) throws {
        // What cannot be read is no reason to refuse an app its type: statistics tell of the damage.
        let units = try Inventory.units(number, in: txn.snapshot) { _, _ in }
        for unit in units where !unit.isCompatible(with: definition.unit) {
            throw StoreError(
                .invalidArgument, path: txn.context.path,
                "The store has samples of \(definition.identifier) in \(unit), "
                    + "which \(definition.unit) cannot express. "
                    + "Define the type in a unit of the same dimension, or delete these samples")
        }
    }
}
