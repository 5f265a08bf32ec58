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

    @Test("A backup does not overwrite a folder that holds a store")
    func exists() throws {
        try bench.load("D", "")
        let before = try Data(contentsOf: bench.folder.appendingPathComponent("D/data.mdb"))
        let run = try bench.run("backup", "S", "D")
        #expect(run.code == 1 && run.errors.contains("There is a store in D already."))
        #expect(try Data(contentsOf: bench.folder.appendingPathComponent("D/data.mdb")) == before)
    }
}
