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
        #expect(load.code == 1 && load.errors.contains("work as the user to whom it belongs"), "\(load.errors)")
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
        #expect(run.code == 1 && run.errors.contains("Pass the store's own folder"), "\(run.errors)")
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
}
