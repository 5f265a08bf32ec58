import ColumnFormat
import HealthModel
import LMDB

extension SampleStore {
    /// Rebuilds every derived table and mark from the primary ones. The identity index, counts, shadow marks, the
    /// contents of queues and the look-up of links are rebuilt in one transaction, so either all of them are new or
    /// nothing changes. Then short transactions rebuild the summaries. Readers are never blocked.
    public func rebuild() throws {
        try checkWritable()
        _ = try core.onWriter { [core] in try core.transact { try Rebuild.all(in: &$0) } }
        core.hasDamagedLinks.store(false, ordering: .relaxed)
        try Upkeep.refreshAllSummaries(in: core)
    }

    /// Sets whether samples of a type at exactly the same time shadow each other in this store, and updates their
    /// marks.
    public func setShadowing(of type: SampleType, _ isOn: Bool) throws {
        try write { transaction in
            try type.validate()
            let number = try NameTable.number(of: type, in: &transaction)
            transaction.state.header.shadowing[number] = isOn
            transaction.state.isChanged = true
            try ShadowMarks.rebuildShadows(of: number, in: &transaction)
        }
    }
}
