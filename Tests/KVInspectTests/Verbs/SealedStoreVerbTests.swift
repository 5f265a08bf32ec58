import Foundation
import HealthKV
import TestSupport
import Testing

extension TestCipher: StoreSealer {}

/// What the tool does with a store whose key only its app has.
@Suite("sealed stores")
struct SealedStoreVerbTests {
    let bench: Workbench

    init() throws {
        bench = try Workbench()
        var options = StoreOptions()
        options.sealer = TestCipher(key: 9)
        let store = try SampleStore.open(at: bench.path("S"), options: options)
        try store.write { txn in
            for number in 0..<2_000 {
                let time = Instant(nanoseconds: 750_000_000_000_000_000) + Int64(number) * 3_600_000_000_000
                try txn.save(Sample(.bodyMass, 70 + Double(number % 10), .kilogram, at: time))
            }
        }
        try store.close()
    }

    @Test("What needs no content works without the key: info, check, pages, backup and compact")
    func withoutKey() throws {
        let info = try bench.run("info", "S", "--format", "json")
        let fields = try info.json()
        #expect(info.code == 0 && fields["sealed"] as? Bool == true && fields["samples"] is NSNull, "\(info.errors)")
        #expect(fields["format_version"] is Int && (fields["tables"] as? [Any])?.isEmpty == false)
        #expect(try bench.run("info", "S").output.contains("sealed"))
        let check = try bench.run("check", "S", "--format", "json")
        let report = try check.json()
        #expect(check.code == 0 && report["clean"] as? Bool == true && report["samples"] as? Int == 2_000)
        #expect((report["unexamined"] as? [String])?.contains { $0.contains("sealed") } == true)
        #expect(try bench.run("pages", "S").code == 0)
        for (verb, copy) in [("backup", "B"), ("compact", "C")] {
            let run = try bench.run(verb, "S", copy, "--format", "json")
            #expect(try run.code == 0 && run.json()["damaged_values"] as? Int == 0, "\(run.errors)")
            #expect(try bench.run("info", copy, "--format", "json").json()["sealed"] as? Bool == true)
            var options = StoreOptions()
            options.sealer = TestCipher(key: 9)
            let store = try SampleStore.open(at: bench.path(copy), options: options)
            #expect(try store.read { try $0.count() } == 2_000 && store.check().isClean)
            try store.close()
        }
    }

    @Test("Every other verb says that the store is sealed, fails with 1 and changes nothing")
    func refused() throws {
        let before = try Data(contentsOf: bench.folder.appendingPathComponent("S/data.mdb"))
        let lines = #"{"type":"stepCount","start":"2024-05-01T08:00:00Z","value":1,"unit":"count"}"#
        for words in [
            ["types", "S"], ["sources", "S"], ["get", "S", "A"], ["scan", "S", "--type", "bodyMass"],
            ["stats", "S", "--type", "bodyMass", "--by", "day"], ["changes", "S"], ["anchors", "S"], ["pending", "S"],
            ["conflicts", "S"], ["dump", "S"], ["dump", "S", "--all"], ["hash", "S"], ["diff", "S", "S"],
            ["export", "S", "x.zip"], ["report", "S", "-o", "r.html"], ["repair", "S", "--output", "N"],
            ["repair", "S", "--output", "N", "--dry-run"], ["load", "S"],
        ] {
            let run = try bench.run(words, input: Data(lines.utf8))
            #expect(run.code == 1 && run.errors.contains("sealed"), "\(words): \(run.code) \(run.errors)")
        }
        #expect(!bench.exists("N") && !bench.exists("r.html") && !bench.exists("x.zip"))
        #expect(try Data(contentsOf: bench.folder.appendingPathComponent("S/data.mdb")) == before)
    }

    @Test("Damage of a sealed store is found without the key")
    func damaged() throws {
        let path = bench.folder.appendingPathComponent("S/data.mdb")
        var bytes = [UInt8](try Data(contentsOf: path))
        // The first page of a long value has the kind 4. Some of them are free.
        for start in stride(from: 2 * 4_096, to: bytes.count, by: 4_096) where bytes[start + 10] == 4 {
            bytes[start + 2_000] ^= 1
        }
        try Data(bytes).write(to: path)
        let check = try bench.run("check", "S", "--format", "json")
        #expect(check.code == 2, "\(check.output)\(check.errors)")
        #expect(try bench.run("backup", "S", "D").code == 2)
    }
}
