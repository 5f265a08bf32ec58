import Foundation
import HealthKV
import TestSupport

@testable import AppleHealthExport

/// Writes the text of exports, line by line as Apple does.
enum Export {
    static let head = """
        <?xml version="1.0" encoding="UTF-8"?>
        <!DOCTYPE HealthData [
        <!-- HealthKit Export Version: 14 -->
        <!ELEMENT HealthData (ExportDate,Me,(Record|Correlation|Workout)*)>
        <!ATTLIST HealthData
          locale CDATA #REQUIRED
        >
        ]>
        <HealthData locale="en_US">
         <ExportDate value="2024-06-30 08:00:00 +0200"/>

        """

    static func document(_ elements: [String]) -> String {
        head + elements.map { $0 + "\n" }.joined() + "</HealthData>\n"
    }

    /// The time of day on one day of May, two hours east of universal time.
    static func date(_ day: Int, _ time: String) -> String { "2024-05-\(day < 10 ? "0" : "")\(day) \(time) +0200" }

    static func record(
        _ type: String, _ value: String, _ unit: String?, _ start: String, to end: String? = nil,
        source: String = "Scale", created: String? = nil, device: String? = nil, metadata: [(String, String)] = [],
        indent: String = " "
    ) -> String {
        var text = "\(indent)<Record type=\"\(type)\" sourceName=\"\(source)\""
        if let device { text += " device=\"\(device)\"" }
        if let unit { text += " unit=\"\(unit)\"" }
        text += " creationDate=\"\(created ?? end ?? start)\" startDate=\"\(start)\" endDate=\"\(end ?? start)\""
        text += " value=\"\(value)\""
        if metadata.isEmpty { return text + "/>" }
        text += ">\n"
        for (key, value) in metadata { text += "\(indent) <MetadataEntry key=\"\(key)\" value=\"\(value)\"/>\n" }
        return text + "\(indent)</Record>"
    }

    static func weight(_ value: String, _ unit: String = "kg", day: Int, source: String = "Scale") -> String {
        record("HKQuantityTypeIdentifierBodyMass", value, unit, date(day, "08:00:00"), source: source)
    }

    static func steps(_ value: String, day: Int, source: String = "Phone") -> String {
        record(
            "HKQuantityTypeIdentifierStepCount", value, "count", date(day, "08:00:00"), to: date(day, "08:10:00"),
            source: source)
    }
}

/// A store in a temporary folder, and files beside it.
struct ImportBench {
    let folder: TemporaryFolder
    let store: SampleStore

    init() throws {
        folder = TemporaryFolder()
        store = try SampleStore.open(at: folder.path + "/store")
    }

    func file(_ name: String, _ bytes: [UInt8]) throws -> String {
        let path = folder.path + "/" + name
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        return path
    }

    /// Imports a document of these elements.
    @discardableResult
    func take(_ elements: [String], _ task: HealthImport = HealthImport()) throws -> HealthImportReport {
        try take(text: Export.document(elements), task)
    }

    @discardableResult
    func take(text: String, _ task: HealthImport = HealthImport()) throws -> HealthImportReport {
        try take(bytes: Array(text.utf8), task)
    }

    @discardableResult
    func take(bytes: [UInt8], _ task: HealthImport = HealthImport()) throws -> HealthImportReport {
        try task.run(try file("export-\(UUID().uuidString).xml", bytes), into: store)
    }

    /// All samples, by type and time.
    func samples(_ type: SampleType) throws -> [Sample] {
        try store.blockingRead { try $0.samples(SampleQuery(type, includeShadowed: true)) }
    }
}
