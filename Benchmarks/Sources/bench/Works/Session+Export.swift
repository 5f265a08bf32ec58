import Foundation
import HealthKV
import Histories

extension Session {
    /// The largest history that is exported: a million records are about 350 MB of XML.
    private static let exported = 1_000_000
    private var exportedSamples: Int { min(settings.samples, Session.exported) }
    /// Of the file, so much is given to a program that takes a minute for all of it.
    private static let pieceBytes = 40_000_000

    /// Exports a history as Apple Health does, and imports the file as a process, into a new store each time. The clock
    /// stops when every sample is committed, indexed and summarised and the process has ended. Other programs read the
    /// same file.
    func measureImportXML() throws {
        guard let tool = Session.kvinspect else { return note("import_xml is left out: kvinspect is not built") }
        let file = folder + "/export.xml"
        let target = folder + "/imported"
        defer { for path in [file, target] { try? FileManager.default.removeItem(atPath: path) } }
        let records = try export(to: file, by: tool)
        let megabytes = try Double(Session.size(of: file)) / 1e6
        var rates: [Double] = []
        var memory = 0
        for run in 1...settings.runs {
            note("import_xml \(run) of \(settings.runs)")
            try? FileManager.default.removeItem(atPath: target)
            let (seconds, peak) = try timeImport(of: file, into: target, by: tool)
            guard try Session.count(in: target) == records else {
                throw BenchFailure("import_xml: the store does not hold every record once")
            }
            rates.append(megabytes / seconds)
            memory = max(memory, peak)
        }
        try send(Work.importXML.rawValue, rates.median, .megabytesPerSecond, runs: rates) {
            ($0.privateBytes, $0.samples) = (memory, exportedSamples)
        }
        note("import_xml again")
        let (seconds, _) = try timeImport(of: file, into: target, by: tool)
        guard try Session.count(in: target) == records else {
            throw BenchFailure("import_xml: importing the file again changed something")
        }
        try send(Work.importXML.rawValue + ".again", megabytes / seconds, .megabytesPerSecond) {
            $0.samples = exportedSamples
        }
        for parser in ExportParser.allCases { try measure(parser, file, megabytes) }
    }

    /// Writes the history into a file. Returns how many samples that are.
    private func export(to file: String, by tool: URL) throws -> Int {
        note("export of the history")
        let source = folder + "/to-export"
        defer { try? FileManager.default.removeItem(atPath: source) }
        guard let store = try name.open(folder: source, hasIDs: true) else {
            throw BenchFailure("import_xml: no store")
        }
        for batch in settings.part(settings.profile, exportedSamples).history() {
            _ = try store.importBatch(batch)
        }
        try store.finishImport()
        let count = try store.count()
        try store.close()
        try Session.start(tool, ["export", source, file]).finish()
        return count
    }

    private func timeImport(of file: String, into target: String, by tool: URL) throws -> (seconds: Double, peak: Int) {
        var peak = 0
        let seconds = try Stopwatch.seconds {
            let process = try Session.start(tool, ["import", target, file])
            let watch = PrivateMemory(of: process.processIdentifier)
            try process.finish()
            peak = watch.peakSoFar
            _ = watch.stop()
        }.seconds
        return (seconds, peak)
    }

    private func measure(_ parser: ExportParser, _ file: String, _ megabytes: Double) throws {
        guard let program = parser.program else { return note("\(parser.rawValue) is not installed, and left out") }
        note("import_xml: \(parser.rawValue)")
        var (read, size) = (file, megabytes)
        let output = folder + "/parsed.db"
        let piece = folder + "/piece.xml"
        defer { for path in [piece, output] { try? FileManager.default.removeItem(atPath: path) } }
        if parser.isSlow {
            try Session.cut(file, to: piece, atMost: Session.pieceBytes)
            (read, size) = (piece, try Double(Session.size(of: piece)) / 1e6)
        }
        let seconds = try Stopwatch.seconds {
            try Session.start(program, parser.arguments(read, output: output)).finish()
        }.seconds
        try send(Work.importXML.rawValue, size / seconds, .megabytesPerSecond, contestant: parser.rawValue) {
            $0.samples = exportedSamples
        }
    }

    /// Copies the beginning of an export, up to a whole element, and closes it.
    private static func cut(_ file: String, to piece: String, atMost limit: Int) throws {
        guard let input = FileHandle(forReadingAtPath: file) else { throw BenchFailure("\(file) cannot be read") }
        var bytes = try input.read(upToCount: limit) ?? Data()
        try input.close()
        if try bytes.count < size(of: file) {
            guard let end = bytes.range(of: Data("\n <Record".utf8), options: .backwards)?.lowerBound else {
                throw BenchFailure("\(file) holds no records")
            }
            bytes = bytes[..<end] + Data("\n</HealthData>\n".utf8)
        }
        try bytes.write(to: URL(fileURLWithPath: piece))
    }

    private static func size(of file: String) throws -> Int {
        try FileManager.default.attributesOfItem(atPath: file)[.size] as? Int ?? 0
    }

    private static func count(in folder: String) throws -> Int {
        let store = try SampleStore.open(at: folder)
        defer { try? store.close() }
        return try store.blockingRead { try $0.count() }
    }
}
