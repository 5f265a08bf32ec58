import Foundation
import HealthKV
import Testing

@testable import kvinspect

@Suite("repair")
struct RepairVerbTests {
    let bench: Workbench

    init() throws {
        bench = try Workbench()
        let lines = (0..<300).map { number in
            #"{"type":"stepCount","start":"2024-05-01T08:00:00Z","end":"2024-05-01T09:00:00Z","value":\#(number + 1),"unit":"count","source":"Phone \#(number)"}"#
        }
        try bench.load("A store", lines.joined(separator: "\n"))
    }

    @Test("The commands that put the new store in place can be pasted, whatever the folders are called") func commands()
        throws
    {
        let file = URL(fileURLWithPath: bench.path("A store/data.mdb"))
        var bytes = try Data(contentsOf: file)
        bytes.replaceSubrange(0..<8_192, with: Data(count: 8_192))
        try bytes.write(to: file)
        let (old, new) = (bench.path("A store"), bench.path("it's new"))
        let told = try bench.run("repair", old, "--output", "beside", "--format", "json").json()
        let dry = try bench.run("repair", old, "--dry-run", "--output", new, "--format", "json").json()
        #expect(dry["commands"] as? [String] == [])
        let run = try bench.run("repair", old + "/", "--output", new)
        #expect(run.code == 3, "\(run.errors)")
        let prefix = "To use it: "
        let line = try #require(run.output.split(separator: "\n").first { $0.hasPrefix(prefix) })
        let pasted = try #require(told["commands"] as? [String]).joined(separator: " && ")
        let beside = bench.path("beside")
        #expect(line == prefix + pasted.replacing(beside, with: "'\(new.replacing("'", with: "'\\''"))'"))
        let shell = Process()
        shell.executableURL = URL(fileURLWithPath: "/bin/sh")
        shell.arguments = ["-c", String(line.dropFirst(prefix.count))]
        try shell.run()
        shell.waitUntilExit()
        #expect(shell.terminationStatus == 0)
        #expect(!bench.exists("it's new") && bench.exists("A store.damaged"))
        #expect(try bench.run("check", "A store").code == 0)
    }

    @Test("A file that is a thousand times longer than what it stores is looked through at once") func sparse() throws {
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: bench.path("A store/data.mdb")))
        try file.write(contentsOf: Data(count: 8_192))
        try file.truncate(atOffset: 1 << 40)
        try file.close()
        let clock = ContinuousClock()
        let began = clock.now
        let run = try bench.run("repair", "A store", "--output", bench.path("N"))
        #expect(run.code == 3, "\(run.errors)")
        #expect(clock.now - began < .seconds(60))
        #expect(try bench.run("page", "A store", "5").code == 2)
    }

    @Test("The report names the days of what is kept and lost, and with --show-values the times") func days() throws {
        let pages = try bench.run("pages", "A store", "--table", "details", "--format", "jsonl").lines()
            .compactMap { $0["page"] as? Int }
        let file = URL(fileURLWithPath: bench.path("A store/data.mdb"))
        var bytes = try Data(contentsOf: file)
        for page in pages { bytes.replaceSubrange(page * 4_096..<(page + 1) * 4_096, with: Data(count: 4_096)) }
        try bytes.write(to: file)
        let run = try bench.run("repair", "A store", "--output", bench.path("N"))
        #expect(run.code == 4)
        #expect(run.output.contains("of stepCount, from 2024-05-01 to 2024-05-01\n"), "\(run.output)")
        #expect(!run.output.contains("08:00"))
        let exact = try bench.run("repair", "A store", "--dry-run", "--show-values")
        #expect(exact.output.contains("of stepCount, from 2024-05-01T08:00:00"), "\(exact.output)")
        let midnight = #"{"type":"stepCount","start":"2024-05-02T00:00:00Z","value":1,"unit":"count"}"#
        try bench.load("M", midnight)
        let sound = try bench.run("repair", "M", "--output", bench.path("Q"))
        #expect(sound.output.contains("kept: 1 of stepCount, from 2024-05-02 to 2024-05-02\n"), "\(sound.output)")
    }

    @Test("A place that is taken is refused before there is any work") func taken() throws {
        try Data().write(to: URL(fileURLWithPath: bench.path("file")))
        for verb in [["repair", "A store", "--output", "file"], ["backup", "A store", "file"]] {
            let run = try bench.run(verb, input: nil)
            #expect(
                run.code == 1 && run.errors.contains("no folder") && !run.errors.contains("Writing"), "\(run.errors)")
        }
        let below = try bench.run("backup", "A store", "file/new")
        #expect(below.code == 1 && below.errors.contains("Not a directory"), "\(below.errors)")
        #expect(try bench.run("repair", "A store", "--output", "").code == 64)
    }

    @Test("Samples in whose columns a bit was set right are told by type and time") func mended() throws {
        let file = URL(fileURLWithPath: bench.path("A store/data.mdb"))
        let whole = try Data(contentsOf: file)
        let pages = try bench.run("pages", "A store", "--table", "details", "--format", "jsonl").lines()
            .compactMap { $0["page"] as? Int }
        var told = 0
        for page in pages {
            var bytes = whole
            bytes[(page + 1) * 4_096 - 300] ^= 4
            try bytes.write(to: file)
            let run = try bench.run("repair", "A store", "--dry-run")
            if run.code == 3, run.output.contains("mended: 300 of stepCount, from 2024-05-01 to 2024-05-01\n") {
                told += 1
            }
        }
        #expect(told > 0)
    }

    @Test("A repair tells its progress as events") func progress() throws {
        let run = try bench.run("repair", "A store", "--output", bench.path("N"), "--progress", "json")
        #expect(run.code == 0 && run.errors.contains(#""done""#), "\(run.errors)")
    }

    @Test("A file whose list of free pages is cut off loses nothing, and is not said to hold what was deleted")
    func freeListCutOff() throws {
        let pages = try bench.run("pages", "A store", "--format", "jsonl").lines()
        let last = try #require(pages.last)
        try #require(last["table"] as? String == "<free>", "the list is the last page: \(last)")
        let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: bench.path("A store/data.mdb")))
        try handle.truncate(atOffset: UInt64(4_096 * (pages.count - 1)))
        try handle.close()
        let run = try bench.run("repair", "A store", "--output", "N", "--format", "json")
        let report = try run.json()
        #expect(run.code == 3, "\(run.output)")
        #expect(report["may_hold_deleted"] as? Bool == false && (report["lost"] as? [Any])?.isEmpty == true)
        #expect((report["kept"] as? [[String: Any]])?.first?["samples"] as? Int == 300)
    }

    @Test("Of a file that is cut to its beginning it is told that types may be missing altogether")
    func cutToTheBeginning() throws {
        let names = ["bodyMass", "heartRate", "dietaryWater", "stepCount", "restingHeartRate"]
        let units = ["kg", "count/min", "mL", "count", "count/min"]
        for (number, name) in names.enumerated() {
            let lines = (0..<900).map { index in
                let time = String(format: "2024-%02d-%02dT%02d:00:00Z", 1 + index % 12, 1 + index % 28, index % 24)
                return
                    #"{"type":"\#(name)","start":"\#(time)","value":\#(index + number),"unit":"\#(units[number])","source":"S"}"#
            }
            try bench.load("C", lines.joined(separator: "\n"))
        }
        let file = bench.path("C/data.mdb")
        let whole = try Data(contentsOf: URL(fileURLWithPath: file))
        var told = 0
        for pages in stride(from: 8, to: whole.count / 4_096, by: max(1, whole.count / 4_096 / 12)) {
            try whole.prefix(pages * 4_096).write(to: URL(fileURLWithPath: file))
            let run = try bench.run("repair", "C", "--output", "N\(pages)", "--format", "json")
            guard run.code != 1 else { continue }
            let report = try run.json()
            let kept = Set((report["kept"] as? [[String: Any]] ?? []).compactMap { $0["type"] as? String })
            let lost = Set((report["lost"] as? [[String: Any]] ?? []).compactMap { $0["type"] as? String })
            let missing = names.map { SampleType($0).identifier }.filter { !kept.contains($0) && !lost.contains($0) }
            if !missing.isEmpty { told += 1 }
            #expect(missing.isEmpty || lost.contains("unknown"), "\(pages) pages: \(missing) of \(run.output)")
        }
        #expect(told > 0, "some file has types of which nothing is left")
    }

    @Test("Types have the names that other verbs give them, and a destination that holds a store is refused at once")
    func names() throws {
        let run = try bench.run("repair", "A store", "--output", bench.path("N"), "--format", "json")
        let kept = try #require(try run.json()["kept"] as? [[String: Any]])
        #expect(kept.map { $0["type"] as? String } == [SampleType.stepCount.identifier])
        for options in [["--output", bench.path("N")], ["--output", bench.path("N"), "--dry-run"]] {
            let refused = try bench.run(["repair", "A store"] + options, input: nil)
            #expect(refused.code == 1 && refused.errors.contains("There is a store in"), "\(refused.errors)")
            #expect(!refused.errors.contains("Writing"))
        }
    }

    @Test("A store by a symbolic link is refused, as by the other verbs") func links() throws {
        try FileManager.default.createSymbolicLink(
            atPath: bench.path("link"), withDestinationPath: bench.path("A store"))
        for words in [
            ["repair", "link", "--dry-run"], ["repair", "link/", "--dry-run"], ["check", "link/"], ["pages", "link"],
            ["page", "link", "2"], ["check", "link"],
            ["info", "link"],
        ] {
            let run = try bench.run(words, input: nil)
            #expect(run.code == 1 && run.errors.contains("symbolic link"), "\(words): \(run.code) \(run.errors)")
        }
    }

    @Test("A damaged meta page is named by pages, and by a dump that passes over damage") func meta() throws {
        let file = URL(fileURLWithPath: bench.path("A store/data.mdb"))
        var bytes = try Data(contentsOf: file)
        let metas = try bench.run("page", "A store", "0", "--format", "json").json()
        let newest = try #require(
            (metas["metas"] as? [[String: Any]])?.first { $0["state"] as? String == "newest" }?["meta"] as? Int)
        bytes.replaceSubrange(newest * 4_096..<(newest + 1) * 4_096, with: Data(count: 4_096))
        try bytes.write(to: file)
        let pages = try bench.run("pages", "A store")
        #expect(pages.code == 2 && pages.errors.contains("meta page"), "\(pages.code) \(pages.errors)")
        let dump = try bench.run("dump", "A store", "--skip-damaged")
        #expect(dump.code == 2 && dump.errors.contains("Damaged: pages: page \(newest)"), "\(dump.errors)")
        #expect(dump.output.split(separator: "\n").count == 300)
    }

    @Test(
        "A wrong bit in the header of a long value: a check ends with 2, a repair with 3, and nothing is lost",
        arguments: [2, 41, 80, 82, 96, 97, 112, 127])
    func headerOfLongValue(bit: Int) throws {
        let before = try bench.run("hash", "A store", "--content").output
        try bench.damageHeader("A store", bit: bit)
        #expect(try bench.run("check", "A store").code == 2)
        let run = try bench.run("repair", "A store", "--output", "N")
        #expect(run.code == 3 && !run.output.contains("sound"), "\(run.output)\(run.errors)")
        try bench.expectClean("N")
        #expect(try bench.run("hash", "N", "--content").output == before)
    }

    @Test("Where the details of samples are lost, the text and JSON say what is lost with the ids")
    func details() throws {
        let rows = try bench.run("pages", "A store", "--table", "details", "--format", "jsonl").lines()
        let file = URL(fileURLWithPath: bench.path("A store/data.mdb"))
        var bytes = try Data(contentsOf: file)
        for page in rows.compactMap({ $0["page"] as? Int }) {
            bytes.replaceSubrange(page * 4_096..<(page + 1) * 4_096, with: Data(count: 4_096))
        }
        try bytes.write(to: file)
        let run = try bench.run("repair", "A store", "--dry-run")
        #expect(run.code == 4, "\(run.errors)")
        #expect(
            run.output.contains("only type, times, value, unit and source are known"),
            "\(run.output)")
        let report = try bench.run("repair", "A store", "--dry-run", "--format", "json").json()
        let parts = try #require(report["details_lost"] as? [[String: Any]])
        #expect(parts.compactMap { $0["samples"] as? Int } == [300])
        for part in parts { #expect(Set(part.keys) == ["type", "from", "to", "samples", "certain"]) }
        let ids = try #require(report["identities_lost"] as? [[String: Any]])
        #expect(NSArray(array: ids) == NSArray(array: parts))
    }

    @Test(
        "A destination in a folder where nothing may be written is named, with advice about --output",
        .enabled(if: geteuid() != 0, "the superuser may write everywhere"))
    func unwritableParent() throws {
        let parent = bench.path("closed")
        try FileManager.default.createDirectory(atPath: parent, withIntermediateDirectories: true)
        try FileManager.default.setAttributes([.posixPermissions: 0o500], ofItemAtPath: parent)
        defer { try? FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: parent) }
        let run = try bench.run("repair", "A store", "--output", "closed/N")
        #expect(run.code == 1 && run.errors.contains("Error: closed/N: "), "\(run.errors)")
        #expect(run.errors.contains("Choose an --output where you may write."), "\(run.errors)")
        #expect(!run.errors.contains(".partial-") && !run.errors.contains("0700"), "\(run.errors)")
    }

    @Test("Of a file without any page, repair does not advise a repair") func empty() throws {
        try Data(count: 16_384).write(to: URL(fileURLWithPath: bench.path("A store/data.mdb")))
        let run = try bench.run("repair", "A store", "--output", bench.path("N"))
        #expect(run.code == 2 && run.errors.contains("Nothing can be saved"), "\(run.errors)")
        #expect(!run.errors.contains("kvinspect repair"), "\(run.errors)")
    }

    @Test("A file of which nothing is left gives no commands and does not look like a repair")
    func nothingLeft() throws {
        let file = URL(fileURLWithPath: bench.path("A store/data.mdb"))
        try Data(contentsOf: file).prefix(8_192).write(to: file)
        let run = try bench.run("repair", "A store", "--output", "N")
        #expect(run.code == 4 && run.output.contains("No sample could be saved."), "\(run.output) \(run.errors)")
        #expect(!run.output.contains("To use it"))
    }

    @Test("The commands of a repair hold in any folder, also where the store was named by a dot")
    func wholePaths() throws {
        let file = URL(fileURLWithPath: bench.path("A store/data.mdb"))
        var bytes = try Data(contentsOf: file)
        bytes.replaceSubrange(0..<8_192, with: Data(count: 8_192))
        try bytes.write(to: file)
        let told = try bench.run("repair", "./A store/.", "--output", "./N/", "--format", "json").json()
        let commands = try #require(told["commands"] as? [String])
        #expect(commands.count == 2 && commands[0].hasSuffix("/A store' '\(bench.path("A store")).damaged'"))
        #expect(commands[1].hasPrefix("mv ") && commands[1].contains(bench.path("N") + " "))
    }
}
