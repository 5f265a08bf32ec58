import Foundation

/// Programs that read exports of Apple Health, or any XML. The first two only parse: they store nothing, and read
/// neither dates nor numbers.
enum ExportParser: String, CaseIterable {
    case libxml2 = "libxml2 parsing"
    case expat = "expat parsing"
    /// A package of PyPI that copies an export into SQLite, a table for each type.
    case healthkitToSQLite = "healthkit-to-sqlite"

    var isSlow: Bool { self == .healthkitToSQLite }

    func arguments(_ file: String, output: String) -> [String] {
        switch self {
        case .libxml2: ["--sax", "--noout", file]
        case .expat: [file]
        case .healthkitToSQLite: [file, output, "--xml"]
        }
    }

    /// The program; `nil` if it is not installed.
    var program: URL? {
        let name =
            switch self {
            case .libxml2: "xmllint"
            case .expat: "xmlwf"
            case .healthkitToSQLite: "healthkit-to-sqlite"
            }
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        return path.split(separator: ":").map { URL(fileURLWithPath: String($0)).appendingPathComponent(name) }
            .first { FileManager.default.isExecutableFile(atPath: $0.path) }
    }
}
