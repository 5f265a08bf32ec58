import ColumnFormat
import Foundation
import HealthKV
import LMDB
import PageReader
import Testing

/// What apps show of an error is mostly its `localizedDescription`.
@Suite("Localized descriptions")
struct ErrorDescriptionTests {
    static let errors: [any Error] = [
        StoreError(.noStore, path: "/s", "There is no store in this folder"), ModelError.startAfterEnd,
        LMDBError(.mapFull, operation: "mdb_put", path: "/s"), FormatError(.checksum, "header"),
        PageFileError.ended,
        MetaPages(PageFile(bytes: [])).findings[0],
    ]

    @Test("The localized description of each public error is its description", arguments: errors.indices)
    func description(index: Int) {
        let error = Self.errors[index]
        #expect(error.localizedDescription == "\(error)")
    }
}
