import Foundation
import PageReader
import TestSupport
import Testing

@testable import HealthKV

/// Each rule of `check` meets a fault that it must find.
@Suite("Findings of a check")
struct FindingTests {
    @Test("A fault planted in a good store is found as what it is, and as nothing else", arguments: PlantedFault.all)
    func plantedFaults(fault: PlantedFault) throws {
        let store = try SampleStore.temporary(options: GoodStore.options)
        try GoodStore.fill(store)
        try store.expectClean()
        try fault.plant(store)
        let report = try store.check()
        #expect(Set(report.findings.map(\.kind)) == [fault.kind], "\(report.findings)")
        try store.close()
    }

    @Test(
        "A change to the pages of a good file is found as what it is, and as nothing else",
        arguments: PlantedPageFault.all)
    func plantedPageFaults(fault: PlantedPageFault) throws {
        let file = try GoodFile()
        var pages = try PageBytes(file.bytes)
        try fault.plant(&pages)
        try Data(pages.bytes).write(to: URL(fileURLWithPath: file.path))
        let report = try SampleStore.check(at: file.folder.path)
        #expect(Set(report.findings.map(\.kind)) == [fault.kind], "\(report.findings)")
    }

    @Test("A file that is cut while it is walked has pages that cannot be read")
    func cutMeanwhile() throws {
        let good = try GoodFile()
        let file = try PageFile(path: good.path)
        let meta = try #require(MetaPages(file).newest)
        let walk = try SnapshotWalk(file, meta, visits: { _ in true }) { _ in
            try FileHandle(forWritingTo: URL(fileURLWithPath: good.path)).truncate(atOffset: 8_192)
        }
        #expect(Set(walk.findings.map { Finding($0).kind }) == [.pageUnreadable], "\(walk.findings)")
    }

    @Test("No kind of finding is without a fault that shows it")
    func complete() {
        let shown = PlantedFault.all.map(\.kind) + PlantedPageFault.all.map(\.kind) + [.pageUnreadable]
        #expect(Set(Finding.Kind.allCases).subtracting(shown) == [])
    }
}

/// The file of a good store that was closed, clean as it is.
private struct GoodFile {
    let folder = TemporaryFolder()
    let bytes: [UInt8]

    var path: String { folder.path + "/data.mdb" }

    init() throws {
        let store = try SampleStore.open(at: folder.path, options: GoodStore.options)
        try GoodStore.fill(store)
        try store.close()
        bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: folder.path + "/data.mdb")))
        #expect(try SampleStore.check(at: folder.path).isClean)
    }
}
