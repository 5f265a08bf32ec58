import ColumnFormat
import HealthModel
import LMDB

extension StoreCore {
    /// Removes the kept contents of all deleted samples. Runs on the writing thread.
    func forgetDeletedContents() throws {
        guard try read({ try ContentTable.keepsDeletedContents(in: $0.snapshot) }) else { return }
        var next: [UInt8]?
        repeat {
            try transact { next = try ContentTable.forgetContents(behind: next, before: .max, count: 2_000, in: &$0) }
        } while next != nil
    }
}
