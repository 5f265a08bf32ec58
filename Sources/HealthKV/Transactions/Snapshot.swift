import LMDB

/// The state of the store that a transaction sees. Every read goes through it. It cannot outlive its transaction, and
/// has no public members: only the tables of this module read it.
public struct Snapshot: ~Escapable {
    let view: View
    let context: ReadContext

    @_lifetime(copy view)
    init(view: View, context: ReadContext) {
        self.view = view
        self.context = context
    }

    var tables: Tables {
        context.trace?.seesAnything()
        return context.tables
    }

    var header: StoreHeader {
        context.trace?.seesAnything()
        return context.state.header
    }

    func damaged(_ what: Damage) -> StoreError {
        StoreError(.damaged, path: context.path, "The store is damaged: \(what.rawValue)")
    }

    /// Throws if an argument is below its minimum.
    func require(_ number: Int, _ least: Int, _ name: String) throws(StoreError) {
        try StoreError.require(number, least, name, path: context.path)
    }
}
