import Foundation
import HealthKVSync
import HealthKitSimulator
import TestSupport

/// Additional events of seeds from 2^40 on, drawn from a separate generator.
extension World {
    func stepFourth() async throws {
        let site = fourth.pick(sites)
        switch fourth.number(0..<100) {
        case 0..<20: try renameStore(site)
        case 20..<50: try await workInExtension(site)
        case 50..<70: try copyFile(of: site)
        case 70..<88: try overwriteUnnoticed()
        default: try await staySilent(site)
        }
    }

    /// Starts the app with another name, as after an update or a change of language.
    private func renameStore(_ site: Site) throws {
        site.source.name = fourth.pick(["Weights", "Gewichte", "Poids"])
        try site.reopen()
        forgetEngines()
        note("the app of store\(site.number) is called \(site.source.name)")
        count("name of a store")
    }

    /// A widget opens the app's store under its own bundle, and writes or edits there.
    private func workInExtension(_ site: Site) async throws {
        let source = site.source
        site.source = Source(bundle: "app.weights.widget", name: "Widget")
        try site.reopen()
        forgetEngines()
        note("an extension works in store\(site.number)")
        if fourth.chance(percent: 50) { try await write(site) } else { try await edit(site) }
        if fourth.chance(percent: 30) { try await delete(site) }
        site.source = source
        try site.reopen()
        forgetEngines()
        count("extension")
    }

    private func copyFile(of site: Site) throws {
        // The data file alone may be copied only of a closed store. Closing moves the journal into the tables, as
        // maintenance does. Otherwise the copy is of an earlier moment, perhaps within a sync that holds the lease.
        while try site.store.maintain() {}
        let file = "\(scratch)/file\(fileCopies.count).mdb"
        try FileManager.default.copyItem(atPath: site.folder + "/data.mdb", toPath: file)
        fileCopies.append((site.number, file, try site.values()))
        note("the file of store\(site.number) is copied as it lies there")
        count("copy of a file")
    }

    /// Writes an older state over the file that it was copied from, with or without the attribute that would reveal it.
    /// Without the attribute, only the memory of peers does.
    private func overwriteUnnoticed() throws {
        guard !fileCopies.isEmpty else { return }
        let copy = fourth.pick(fileCopies)
        let site = sites[copy.site]
        try lose(site, beside: copy.values)
        try site.overwriteStore(byFile: copy.file, keepsAttribute: fourth.chance(percent: 40))
        forgetEngines()
        note("an older state of store\(site.number) is copied over its file, and fits")
        count("fitting copy over a file")
    }

    /// Leaves a device unused for longer than peers keep tombstones for it, while all others continue.
    private func staySilent(_ site: Site) async throws {
        syncCloud()
        // When the device returns, it does not learn of earlier deletions, because they were purged meanwhile.
        forgetUnheardDeletions()
        needsComparing = true
        for _ in 0..<7 {
            clock.advance(by: 30 * 86_400)
            for other in sites where other !== site {
                try await sync(other)
                while try other.store.maintain() {}
            }
        }
        forgetUnheardDeletions()
        note("store\(site.number) was silent for 210 days")
        count("silence")
    }
}
