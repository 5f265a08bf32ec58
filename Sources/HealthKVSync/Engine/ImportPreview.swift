import HealthKV

/// Counts what an import has to bring.
struct ImportPreview: SessionJob {
    let core: SessionCore

    /// Returns how many foreign samples a peer shows.
    func count(_ type: SampleType, told: @Sendable (Int) -> Void) async throws -> Int {
        var (count, cursor): (Int, [UInt8]?) = (0, nil)
        // A sample may appear again on the next page.
        var last: Set<SampleID> = []
        repeat {
            try Task.checkCancellation()
            let page = try await peer.enumerate(
                EnumerationRequest(type: type, cursor: cursor, limit: options.pageSize))
            count += page.samples.count { !$0.isOwn && !last.contains($0.peerID) }
            last = Set(page.samples.map(\.peerID))
            cursor = page.cursor
            told(count)
        } while cursor != nil
        return count
    }

    /// Returns how many samples an import has left to bring, by the counts of the last preview; `nil` if there was no
    /// preview, and if not everything is imported.
    func leftOfPreview(_ horizon: TypePlan.Horizon) throws -> Int? {
        guard horizon == .all, !memory.previewed.isEmpty else { return nil }
        let known = try state()
        return memory.previewed.reduce(0) { $0 + max(0, $1.value - known[$1.key].imported) }
    }
}

extension SessionJob {
    var preview: ImportPreview { ImportPreview(core: core) }
}
