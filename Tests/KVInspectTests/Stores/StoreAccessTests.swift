import Foundation
import HealthKV
import Testing

@testable import kvinspect

/// The notices of verbs about access to a store, and the errors if access is denied.
@Suite("Access to a store")
struct StoreAccessTests {
    let bench: Workbench

    init() throws {
        bench = try Workbench()
        try bench.load("S", Fixture.lines)
    }

    private func set(_ attributes: [FileAttributeKey: Any], _ path: String) throws {
        try FileManager.default.setAttributes(attributes, ofItemAtPath: bench.path(path))
    }

    @Test("Every reader reports that it reads without locks if the lock file cannot be used")
    func withoutLocks() throws {
        try FileManager.default.removeItem(atPath: bench.path("S/lock.mdb"))
        // The superuser may write everywhere, but does not create a lock file in another user's folder.
        try set(geteuid() == 0 ? [.ownerAccountID: 4_321] : [.posixPermissions: 0o500], "S")
        defer { try? set([.posixPermissions: 0o700], "S") }
        for words in [["check", "S"], ["info", "S"], ["dump", "S"]] {
            let run = try bench.run(words, input: nil)
            #expect(run.code == 0, "\(run.errors)")
            #expect(
                run.errors.hasPrefix("kvinspect: S: ") && run.errors.contains("The lock file cannot be used"),
                "\(words): \(run.errors)")
        }
        #expect(!bench.exists("S/lock.mdb"))
    }

    @Test("Readers and writers warn when other users may read a store, and do not change its permissions")
    func permissions() throws {
        #expect(try bench.run("info", "S").errors.isEmpty)
        try set([.posixPermissions: 0o644], "S/data.mdb")
        for words in [["check", "S"], ["types", "S"], ["anchors", "S", "reset", "nobody"], ["load", "S"]] {
            let run = try bench.run(words, input: nil)
            #expect(
                run.errors.contains("kvinspect: S/data.mdb: Others than the owner may read"), "\(words): \(run.errors)")
        }
        let attributes = try FileManager.default.attributesOfItem(atPath: bench.path("S/data.mdb"))
        #expect(attributes[.posixPermissions] as? Int == 0o644)
    }

    @Test(
        "A reader reports when the store belongs to another user",
        .enabled(if: geteuid() == 0, "only the superuser may give files away"))
    func foreignOwner() throws {
        try set([.ownerAccountID: 4_321], "S/data.mdb")
        let run = try bench.run("info", "S")
        #expect(run.code == 0 && run.errors.contains("It belongs to user 4321"), "\(run.errors)")
        let load = try bench.run("load", "S", input: Fixture.lines)
        #expect(load.code == 1 && load.errors.contains("Work as the user to whom the store belongs"), "\(load.errors)")
        #expect(!load.errors.contains("option"))
    }

    @Test(
        "An inaccessible folder is not reported as a folder without a store",
        .enabled(if: geteuid() != 0, "the superuser may look everywhere"))
    func hidden() throws {
        try set([.posixPermissions: 0o000], "S")
        defer { try? set([.posixPermissions: 0o700], "S") }
        for words in [["info", "S"], ["check", "S"], ["load", "S"]] {
            let run = try bench.run(words, input: nil)
            #expect(run.code == 1 && run.errors.contains("Correct the permissions"), "\(words): \(run.errors)")
            #expect(!run.errors.contains("There is no store"))
        }
    }

    @Test("A link is refused with advice for a user at a terminal")
    func link() throws {
        try FileManager.default.createSymbolicLink(
            atPath: bench.path("L"), withDestinationPath: bench.path("S"))
        let run = try bench.run("info", "L")
        #expect(run.code == 1 && run.errors.contains("Pass the folder that it leads to"), "\(run.errors)")
        #expect(!run.errors.contains("option"))
    }

    @Test("No message contains advice for callers of the library")
    func advice() {
        let codes: [StoreError.Code] = [
            .noStore, .notAStore, .newerFormat, .olderFormat, .damaged, .closed, .nested, .readOnly, .invalidSample,
            .tokenExpired,
            .full, .storage, .mixedUnits, .unsuitableQuery, .exists, .insideStore, .poisoned, .outcomeUnknown,
            .growthBlocked, .unsafeFolder, .unsafeFileSystem, .accessDenied, .busy, .replaced, .suspended, .forked,
            .readerExpired, .unfinished, .cancelled,
        ]
        let words = [
            "option", "resume", "closure", "transaction", "snapshot", "Open the store", "open it", "open the store",
            "call", "aggregation", "be created", "current token", "Close",
        ]
        for code in codes {
            let text = StoreAccess.text(for: StoreError(code, path: "/s", "What happened"))
            #expect(text.hasPrefix("/s: What happened. ") && text.hasSuffix("."), "\(text)")
            for word in words { #expect(!text.contains(word), "\(code.rawValue): \(text)") }
        }
    }

    @Test("Names of folders are told so that they can be read and pasted") func names() throws {
        #expect(try bench.run("info", "..").errors.contains("There is no store in '..'."))
        #expect(try bench.run("info", "").code == 64)
        #expect(try bench.run("backup", "S", "").code == 64)
        try bench.load("it's", Fixture.lines)
        let file = bench.folder.appendingPathComponent("it's/data.mdb")
        var bytes = try Data(contentsOf: file)
        bytes.replaceSubrange(0..<8_192, with: Data(count: 8_192))
        try bytes.write(to: file)
        #expect(try bench.run("types", "it's").errors.contains(#"'kvinspect check 'it'\''s''"#))
    }

    @Test("An argument that is no text is refused, not taken for another name") func notText() throws {
        let tool = try #require(bench.prepare(["info", "S"], input: nil).executableURL).path
        let run = try bench.runProgram("sh", ["-c", "exec \"\(tool)\" backup S \"$(printf 'b\\377')\""])
        #expect(run.code == 64 && run.errors.contains("no UTF-8"), "\(run.errors)")
        let right = try bench.runProgram("sh", ["-c", "exec \"\(tool)\" backup S \"$(printf 'b\\357\\277\\275')\""])
        #expect(right.code == 0, "\(right.errors)")
    }

    @Test(
        "A load whose answer cannot be printed says that everything is stored",
        .enabled(if: FileManager.default.fileExists(atPath: "/dev/full")))
    func fullOutput() throws {
        let tool = try #require(bench.prepare(["info", "S"], input: nil).executableURL).path
        let line = #"{"type":"bodyMass","start":"2024-01-01","value":70,"unit":"kg","source":"Scale"}"#
        let run = try bench.runProgram("sh", ["-c", "echo '\(line)' | \"\(tool)\" load F >/dev/full"])
        #expect(run.code == 1 && run.errors.contains("All lines are stored: do not load them again."), "\(run.errors)")
        #expect(try bench.run("info", "F", "--format", "json").json()["samples"] as? Int == 1)
    }
}
