import Foundation
import Testing

@testable import kvinspect

@Suite("backup")
struct BackupTests {
    let bench: Workbench

    init() throws {
        bench = try Workbench()
        try bench.load("S", Fixture.lines)
    }

    @Test("A backup holds the same content, and the tool announces the folder that it writes")
    func copy() throws {
        let run = try bench.run("backup", "S", "D", "--format", "json")
        #expect(run.code == 0 && run.errors.hasPrefix("Writing ") && run.errors.contains(" of S to D."))
        let json = try run.json()
        #expect(json["verb"] as? String == "backup" && json["bytes"] as? Int ?? 0 > 0)
        #expect(try bench.run("dump", "D").output == bench.run("dump", "S").output)
        #expect(try bench.run("hash", "D").output == bench.run("hash", "S").output)
        try bench.expectClean("D")
    }

    @Test("A backup of a store with a damaged page header is kept, and exits with 2 as a check of it does")
    func damagedHeader() throws {
        let lines = (0..<300).map {
            #"{"type":"stepCount","start":"2024-05-01T08:00:00Z","value":\#($0),"unit":"count","source":"Phone"}"#
        }
        try bench.load("L", lines.joined(separator: "\n"))
        let sound = try bench.run("backup", "L", "C", "--format", "json")
        #expect(try sound.code == 0 && sound.json()["page_findings"] as? Int == 0, "\(sound.errors)")
        try bench.damageHeader("L", bit: 112)
        let run = try bench.run("backup", "L", "D", "--format", "json")
        let json = try run.json()
        #expect(run.code == 2 && run.errors.contains("about pages of the copy"), "\(run.errors)")
        #expect(json["damaged_values"] as? Int == 0 && json["page_findings"] as? Int ?? 0 > 0)
        #expect(try bench.run("check", "D").code == 2)
    }

    @Test("A backup does not overwrite a folder that holds a store")
    func exists() throws {
        try bench.load("D", "")
        let before = try Data(contentsOf: bench.folder.appendingPathComponent("D/data.mdb"))
        let run = try bench.run("backup", "S", "D")
        #expect(run.code == 1 && run.errors.contains("There is a store in D already."))
        #expect(try Data(contentsOf: bench.folder.appendingPathComponent("D/data.mdb")) == before)
    }
}
