import Foundation
import HealthKV
import Histories

@main
struct Demo {
    let options: Options
    let folder: String
    var store: SampleStore
    var screen = Screen()
    var expected = Expected()

    static func main() {
        do {
            let arguments = Array(CommandLine.arguments.dropFirst())
            if arguments.contains("--help") || arguments.contains("-h") { return print(Options.usage) }
            let isRight = try run(Options(arguments))
            if !isRight { exit(1) }
        } catch {
            FileHandle.standardError.write(Data("demo: \(error)\n".utf8))
            exit(1)
        }
    }

    /// Runs all steps; returns `true` if every answer was the expected one.
    private static func run(_ options: Options) throws -> Bool {
        let began = Date()
        let process = ProcessInfo.processInfo.processIdentifier
        let folder = options.keep ?? FileManager.default.temporaryDirectory.path + "/healthkv-demo-\(process)"
        if FileManager.default.fileExists(atPath: folder + "/data.mdb") {
            throw DemoFailure("\(folder) holds a store already; choose another folder")
        }
        defer { if options.keep == nil { try? FileManager.default.removeItem(atPath: folder) } }
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        var settings = SampleStore.Options()
        settings.source = Source(bundle: "app.example.demo", name: "Demo")
        var demo = Demo(
            options: options, folder: folder, store: try SampleStore.open(at: folder, options: settings))
        try demo.showAll()
        try demo.store.close()
        demo.conclude(Date().timeIntervalSince(began))
        return demo.screen.failures == 0
    }

    private mutating func showAll() throws {
        screen.title("HealthKV: ten years of steps, distance, energy and weight in one store")
        screen.note("  " + folder)
        screen.title("Write")
        try showImport()
        screen.title("Read, each answer compared with what was made")
        try showRanges()
        try showColumns()
        try showLookups()
        screen.title("Change")
        try showChanges()
        screen.title("Prove")
        try showReopening()
        try showCheck()
        screen.title("Weight, the mean of two months each")
        try showChart()
    }

    private func conclude(_ seconds: Double) {
        let verdict =
            screen.failures == 0
            ? screen.styled("All answers as expected", .green)
            : screen.styled("\(screen.failures) answers were NOT as expected", .red)
        print("\n\(verdict), \(Show.time(seconds)) in all.")
        if options.keep != nil {
            print("The store is kept. Look into it: swift run -c release kvinspect info \(folder)")
        }
    }

    /// Runs `body` and returns its seconds and its result.
    func timed<R>(_ body: () throws -> R) rethrows -> (seconds: Double, answer: R) {
        let from = ContinuousClock.now
        let answer = try body()
        let duration = (ContinuousClock.now - from).components
        return (Double(duration.seconds) + Double(duration.attoseconds) * 1e-18, answer)
    }
}
