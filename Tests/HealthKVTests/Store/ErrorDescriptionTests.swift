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

    @Test("Each public error type of the package conforms to LocalizedError")
    func allConform() throws {
        let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
            "../../../Sources"
        )
        .standardizedFileURL
        var (errors, localized): (Set<Substring>, Set<Substring>) = ([], [])
        let files = try #require(FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil))
        for case let file as URL in files where file.pathExtension == "swift" {
            let text = try String(contentsOf: file, encoding: .utf8)
            for match in text.matches(of: /public (?:struct|enum|final class) (\w+):[^{\n]*\bError\b/) {
                errors.insert(match.1)
            }
            for match in text.matches(of: /extension (\w+):[^{\n]*\bLocalizedError\b/) { localized.insert(match.1) }
        }
        #expect(errors.count >= 9 && errors.contains("StoreError"))
        #expect(errors.subtracting(localized).isEmpty)
    }
}
