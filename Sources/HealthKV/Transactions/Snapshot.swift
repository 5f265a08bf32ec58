import HealthModel
import LMDB

/// The state of the store that a transaction sees. Every read goes through it. It cannot outlive its transaction, and
/// has no public members: only the tables of this module read it.
public struct Snapshot: ~Escapable {
    let view: View
    private let held: ReadContext
    /// Whether anybody wants to know what the read touches. Copies of a flag cost less than those of a reference.
    private let isTraced: Bool

    @_lifetime(copy view)
    init(view: View, context: ReadContext) {
        self.view = view
        held = context
        isTraced = context.trace != nil
    }

    /// Everything that a read can learn goes through here, so that no read escapes a trace.
    var context: ReadContext {
        if isTraced { held.trace?.seesAnything() }
        return held
    }

    /// Notes what the read touches, if anybody wants to know.
    var trace: ReadTrace? { isTraced ? held.trace : nil }

    /// The folder of the store, for errors.
    var path: String { held.path }
    var tables: OpenTables { context.tables }
    var header: StoreHeader { context.state.header }

    /// The unit of a type in this store: that of the catalog, or of its definition here. Another store of the process
    /// may define the type otherwise. An observed read need not note this: it compares the mark of all definitions.
    func unit(of type: SampleType) -> HealthUnit? {
        type.catalogUnit ?? held.state.definitions[type.identifier]?.unit
    }

    /// How values of a type become one number in this store.
    func combination(of type: SampleType) -> TypeDefinition.Combination? {
        if let aggregation = type.catalogAggregation { return aggregation == .cumulative ? .sum : .mean }
        return held.state.definitions[type.identifier]?.combination
    }

    /// How values of a type combine in this store.
    func aggregation(of type: SampleType) -> SampleType.Aggregation? { combination(of: type)?.aggregation }

    func damaged(_ what: Damage) -> StoreError {
        StoreError(.damaged, path: path, "The store is damaged: \(what.rawValue)")
    }

    /// Throws if an argument is below its minimum.
    func require(_ number: Int, _ least: Int, _ name: String) throws(StoreError) {
        try StoreError.require(number, least, name, path: path)
    }
}
