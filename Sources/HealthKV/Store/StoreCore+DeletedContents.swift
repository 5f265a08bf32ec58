import ColumnFormat
import HealthModel
import LMDB

extension StoreCore {
    /// Removes the kept contents of all deleted samples. Runs on the writing thread.
    func forgetDeletedContents() throws {
        guard try read({ try $0.snapshot.keepsDeletedContents() }) else { return }
        var next: [UInt8]?
        repeat {
            try transact { next = try $0.forgetContents(behind: next, before: .max, count: 2_000) }
        } while next != nil
    }
}
