import Foundation
import HealthKV
import Testing

@testable import kvinspect

@Suite("import")
struct ImportTests {
    let bench: Workbench

    init() throws {
        bench = try Workbench()
        try write("export.xml", Fixture.export)
    }

    private func write(_ name: String, _ text: String) throws {
        try Data(text.utf8).write(to: bench.folder.appendingPathComponent(name))
    }

    private func counts(_ run: ToolRun) throws -> [String: Int] { try run.json().compactMapValues { $0 as? Int } }

    @Test("An export makes a store, and the same again changes nothing")
    func twice() throws {
        let first = try bench.run("import", "S", "export.xml", "--format", "json")
        #expect(first.code == 0 && first.errors.hasPrefix("Making the store in S.\n"), "\(first.errors)")
        let keys = ["read", "inserted", "replaced", "unchanged", "vetoed", "mended", "quarantined", "skipped"]
        #expect(try keys.allSatisfy { try counts(first)[$0] != nil })
        #expect(try counts(first)["inserted"] == 2)
        let hash = try bench.run("hash", "S").output
        let again = try bench.run("import", "S", "export.xml", "--format", "json")
        #expect(try again.code == 0 && counts(again)["inserted"] == 0 && counts(again)["unchanged"] == 2)
        #expect(try bench.run("hash", "S").output == hash)
        try bench.expectClean("S")
    }

    @Test("Types can be chosen for a store that exists, and an unknown one is refused") func types() throws {
        try bench.load("S", #"{"type":"heartRate","start":"2024-01-01T00:00:00Z","value":60,"unit":"count/min"}"#)
        let run = try bench.run("import", "S", "export.xml", "--types", "bodyMass", "--format", "json")
        #expect(try run.code == 0 && counts(run)["inserted"] == 1, "\(run.errors)")
        let dry = try bench.run("import", "S", "export.xml", "--types", "bodyMass", "--dry-run", "--format", "json")
        #expect(try dry.code == 0 && counts(dry)["unchanged"] == 1, "\(dry.errors)")
        let wrong = try bench.run("import", "S", "export.xml", "--types", "HKQuantityTypeIdentifierBodyMas")
        #expect(wrong.code == 1 && wrong.errors.contains("Did you mean 'bodyMass'"), "\(wrong.errors)")
    }

    @Test("A dry run counts as the import does, also what comes twice, and an order of dates that is none is refused")
    func dryRunOfTwice() throws {
        let times = #"startDate="2024-05-01 08:00:00 +0000" endDate="2024-05-01 08:00:00 +0000""#
        let energy =
            #"<Record type="HKQuantityTypeIdentifierDietaryEnergyConsumed" sourceName="D" unit="kcal" \#(times) value="4"/>"#
        let food =
            #"<Correlation type="HKCorrelationTypeIdentifierFood" sourceName="D" \#(times)>\#(energy)</Correlation>"#
        try write("meal.xml", "<HealthData>\n \(food)\n \(energy)\n</HealthData>\n")
        let dry = try bench.run("import", "M", "meal.xml", "--dry-run", "--format", "json")
        #expect(dry.code == 0 && !bench.exists("M"), "\(dry.errors)")
        let real = try bench.run("import", "M", "meal.xml", "--format", "json")
        #expect(try counts(dry) == counts(real))
        #expect(try counts(real)["inserted"] == 1 && counts(real)["unchanged"] == 1)
        let again = try bench.run("import", "M", "meal.xml", "--dry-run", "--format", "json")
        #expect(try counts(again) == counts(bench.run("import", "M", "meal.xml", "--format", "json")))
        let wrong = try bench.run("import", "N", "meal.xml", "--from", "2024-05-02", "--to", "2024-05-01")
        #expect(wrong.code == 64 && wrong.errors.contains("--to") && !bench.exists("N"), "\(wrong.errors)")
    }

    @Test("The input and a folder give the same store as the file")
    func places() throws {
        try FileManager.default.createDirectory(
            at: bench.folder.appendingPathComponent("folder/apple_health_export"), withIntermediateDirectories: true)
        try write("folder/apple_health_export/导出.xml", Fixture.export)
        try write("folder/apple_health_export/export_cda.xml", "<ClinicalDocument/>")
        #expect(try bench.run("import", "A", "export.xml").code == 0)
        #expect(try bench.run("import", "B", "-", input: Fixture.export).code == 0)
        let folder = try bench.run("import", "C", "folder", "--format", "json")
        #expect(folder.code == 0, "\(folder.errors)")
        let hash = try bench.run("hash", "A", "--content").output
        for store in ["B", "C"] { #expect(try bench.run("hash", store, "--content").output == hash) }
    }

    @Test("A quarantine in the place of what is imported is refused, and nothing of it is lost")
    func quarantineOverInput() throws {
        let before = try Data(contentsOf: bench.folder.appendingPathComponent("export.xml"))
        try FileManager.default.createSymbolicLink(atPath: bench.path("link.xml"), withDestinationPath: "export.xml")
        for output in ["export.xml", "link.xml", bench.path("export.xml")] {
            let run = try bench.run("import", "Q", "export.xml", "--quarantine", output, "--force")
            #expect(run.code == 1 && run.errors.contains("is part of what is imported"), "\(run.errors)")
            #expect(!bench.exists("Q"))
        }
        try FileManager.default.createDirectory(atPath: bench.path("inner"), withIntermediateDirectories: false)
        for output in ["left.jsonl", "inner/left.jsonl"] {
            let inside = try bench.run("import", "Q", bench.folder.path, "--quarantine", output)
            #expect(inside.code == 1 && inside.errors.contains("is part of what is imported"), "\(inside.errors)")
        }
        let stream = try bench.run(
            ["import", "Q", "-", "--quarantine", "inner/left.jsonl"], input: Data("<HealthData>".utf8))
        #expect(!stream.errors.contains("is part of what is imported"), "\(stream.errors)")
        #expect(try Data(contentsOf: bench.folder.appendingPathComponent("export.xml")) == before)
    }

    @Test("What cannot be taken goes to the quarantine with its place, and the code is 5")
    func quarantine() throws {
        try write("export.xml", Fixture.export.replacing("\"72.5\"", with: "\"72,5 kg\""))
        let run = try bench.run("import", "S", "export.xml", "--quarantine", "left.jsonl", "--format", "json")
        #expect(try run.code == 5 && counts(run)["quarantined"] == 1 && counts(run)["inserted"] == 1)
        let text = try String(contentsOf: bench.folder.appendingPathComponent("left.jsonl"), encoding: .utf8)
        let line = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        let offset = try #require(line["offset"] as? Int)
        let bytes = try #require(line["bytes"] as? String)
        let file = try String(contentsOf: bench.folder.appendingPathComponent("export.xml"), encoding: .utf8)
        #expect(
            file.utf8.dropFirst(offset).starts(with: bytes.utf8) && bytes.hasPrefix("<Record") && bytes.hasSuffix("/>"))
        #expect(line["reason"] as? String == "its value is no number" && !run.errors.contains("72,5"))
        let again = try bench.run("import", "S", "export.xml", "--quarantine", "left.jsonl")
        #expect(again.code == 1 && again.errors.contains("--force"))
    }

    @Test("A file that is cut off gives what is whole, says so, and ends with code 5")
    func cutOff() throws {
        try write("export.xml", String(Fixture.export.dropLast(60)))
        let run = try bench.run("import", "S", "export.xml", "--format", "json")
        #expect(
            try run.code == 5 && counts(run)["inserted"] == 1 && run.errors.contains("ends before its last element"))
    }

    @Test("What is no export is refused with its name, and leaves no store")
    func refused() throws {
        for (name, text) in [("text", "steps: 5\n"), ("empty", ""), ("zip", "PK\u{3}\u{4} and nothing more")] {
            try write(name, text)
            let run = try bench.run("import", "S", name)
            #expect(run.code == 1 && run.errors.contains(name) && run.output.isEmpty, "\(run.errors)")
            #expect(!FileManager.default.fileExists(atPath: bench.path("S")))
        }
        let missing = try bench.run("import", "S", "no-such-file")
        #expect(missing.code == 1 && missing.errors.contains("no-such-file: does not exist"), "\(missing.errors)")
        #expect(!missing.errors.contains("Making"), "nothing is announced")
    }

    @Test("What is not there and what is no export leave no folder above the store, and those that were there stay")
    func refusedBelow() throws {
        try write("text", "steps: 5\n")
        try FileManager.default.createDirectory(atPath: bench.path("old"), withIntermediateDirectories: true)
        for name in ["no-such-file", "text"] {
            for store in ["new/below/S", "new/below/S/", "old/below/S"] {
                #expect(try bench.run("import", store, name).code == 1)
            }
            #expect(!bench.exists("new") && !bench.exists("old/below") && bench.exists("old"), "\(name)")
        }
    }

    @Test("A dry run makes no store and changes none")
    func dryRun() throws {
        let first = try bench.run("import", "S", "export.xml", "--dry-run", "--format", "json")
        #expect(try first.code == 0 && counts(first)["inserted"] == 2)
        #expect(!FileManager.default.fileExists(atPath: bench.path("S")))
        try bench.load("S", Fixture.lines)
        let hash = try bench.run("hash", "S").output
        let second = try bench.run("import", "S", "export.xml", "--dry-run", "--format", "json")
        #expect(try counts(second)["inserted"] == 2)
        #expect(try bench.run("hash", "S").output == hash)
    }

    @Test("Types, source and times choose what is imported")
    func filters() throws {
        func skipped(_ options: String...) throws -> Int? {
            let words = ["import", "S-\(UUID().uuidString)", "export.xml", "--format", "json"]
            let run = try bench.run(words + options, input: nil)
            return try counts(run)["skipped"]
        }
        #expect(try skipped("--types", "bodyMass") == 1)
        #expect(try skipped("--types", "bodyMass,stepCount") == 0)
        #expect(try skipped("--source", "Scale") == 1)
        let none = try bench.run("import", "S-none", "export.xml", "--source", "Scael")
        #expect(none.code == 0 && none.errors.contains("of the source 'Scael'"), "\(none.errors)")
        #expect(try skipped("--from", "2024-07-02", "--tz", "UTC") == 2)
        #expect(try skipped("--to", "2024-07-02", "--tz", "UTC") == 0)
        #expect(try bench.run("import", "S", "export.xml", "--types", "bodyMass,").code == 64)
    }

    @Test("A table is imported by a map, and the tool's own table by the map that it has")
    func tables() throws {
        try write("scale.csv", "Datum;Gewicht\n31.05.2024 07:58;72,4\n01.06.2024 08:03;72,x\n02.06.2024 08:03;71,9\n")
        try write(
            "scale.json",
            #"""
            {"separator": "semicolon", "decimalComma": true, "zone": "Europe/Berlin",
             "start": {"column": "Datum", "format": "dd.MM.yyyy HH:mm"}, "source": "My scale",
             "samples": [{"type": "bodyMass", "value": {"column": "Gewicht"}, "unit": "kg"}]}
            """#)
        let run = try bench.run(
            "import", "S", "scale.csv", "--map", "scale.json", "--quarantine", "left.jsonl", "--format", "json")
        #expect(try run.code == 5 && counts(run)["inserted"] == 2 && counts(run)["quarantined"] == 1, "\(run.errors)")
        let left = try String(contentsOf: bench.folder.appendingPathComponent("left.jsonl"), encoding: .utf8)
        #expect(left.contains("\"line\":3"))
        let again = try bench.run("import", "S", "scale.csv", "--map", "scale.json", "--format", "json")
        #expect(try counts(again)["inserted"] == 0 && counts(again)["unchanged"] == 2)
        let scan = try bench.run("scan", "S", "--type", "bodyMass", "--tz", "UTC", "--format", "jsonl").lines()
        #expect(scan.first?["start"] as? String == "2024-05-31T05:58:00Z" && scan.first?["value"] as? Double == 72.4)
        #expect(try bench.run("export", "S", "own.csv").code == 0)
        let own = try bench.run("import", "T", "own.csv", "--map", "healthkv", "--format", "json")
        #expect(try own.code == 0 && counts(own)["inserted"] == 2, "\(own.errors)")
        let copy = try bench.run("scan", "T", "--type", "bodyMass", "--tz", "UTC", "--format", "jsonl").lines()
        #expect(copy.map { $0["value"] as? Double } == scan.map { $0["value"] as? Double } && copy.count == 2)
    }

    @Test("A map that is none is refused with the place in it")
    func badMaps() throws {
        try write("scale.csv", "a,b\n1,2\n")
        try write("map.json", #"{"samples": [{"type": "bodyMass"}]}"#)
        let bad = try bench.run("import", "S", "scale.csv", "--map", "map.json")
        #expect(bad.code == 1 && bad.errors.contains("samples[0]"), "\(bad.errors)")
        let unknown = try bench.run("import", "S", "scale.csv", "--map", "nothing")
        #expect(unknown.code == 1 && unknown.errors.contains("withings-weight"), "\(unknown.errors)")
        let other = try bench.run("import", "S", "scale.csv", "--map", "samsung-weight")
        #expect(other.code == 1 && !FileManager.default.fileExists(atPath: bench.path("S")), "\(other.errors)")
    }
}
