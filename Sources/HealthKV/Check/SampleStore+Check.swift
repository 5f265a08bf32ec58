import ColumnFormat
import HealthModel
import LMDB

extension SampleStore {
    /// Checks everything in the store and reports violations. Continues after a finding.
    ///
    /// ```swift
    /// let report = try store.check()
    /// assert(report.isClean)
    /// ```
    ///
    /// - Parameters:
    ///   - limit: The most findings to list; the rest are counted.
    ///   - progress: Called now and then with the share that is done, 0 to 1. Return `false` to stop.
    public func check(limit: Int = 1_000, progress: (Double) -> Bool = { _ in true }) throws -> CheckReport {
        try check(from: .pages, limit: limit, progress: progress)
    }

    func check(
        from first: CheckPart, limit: Int = 1_000, progress: (Double) -> Bool = { _ in true }
    ) throws -> CheckReport {
        try StoreError.require(limit, 0, "limit", path: path)
        for _ in 0..<100 {
            if let report = try checkOnce(first, limit, progress) { return report }
        }
        throw StoreError(.storage, path: path, "Other processes write too fast for the pages to be looked at")
    }

    /// Returns `nil` if the meta page of the snapshot was overwritten before it could be read.
    private func checkOnce(_ first: CheckPart, _ limit: Int, _ progress: (Double) -> Bool) throws -> CheckReport? {
        try read { transaction in
            let number = UInt64(transaction.lmdb.id)
            // The pages of a private copy were walked when it was made; the folder holds another file.
            var pages: PageInspection?
            if core.file.access != .copy {
                guard let inspection = try PageInspection(folder: path, transaction: number, limit: limit) else {
                    return nil
                }
                // Without its key a sealed store is looked at from outside.
                if !inspection.isSound || core.lacksKey {
                    return try inspection.rawReport(path, limit: limit, progress)
                }
                pages = inspection
            }
            // Names that are cached from earlier say nothing about those in the file.
            transaction.context.state.names = NameBook()
            return try StoreCheck(limit: limit).run(transaction.snapshot, number, pages, from: first, progress)
        }
    }

    /// Checks everything in the store of a folder, even if it is too damaged to be opened: then pages and values are
    /// checked by ordinary reads, and parts that cannot be checked are listed. Damage is a finding, not an error. A
    /// file that the system cannot read is an error, not damage.
    ///
    /// ```swift
    /// let report = try SampleStore.check(at: folder)
    /// for finding in report.findings { print(finding.kind.rawValue, finding.table, finding.detail) }
    /// ```
    ///
    /// - Parameters:
    ///   - folder: The folder of the store.
    ///   - first: The part to begin with, where an earlier check was stopped (``CheckReport/stoppedAt``). Pages are
    ///     checked in any case.
    ///   - limit: The most findings to list; the rest are counted.
    ///   - progress: Called now and then with the share that is done, 0 to 1. Return `false` to stop.
    ///   - sealer: The cipher of a sealed store. Without it pages, headers and checksums of values are checked, not
    ///     what the values hold.
    ///   - onNotice: Called with the notices of opening the store, such as that it is read without locks.
    public static func check(
        at folder: String, from first: CheckPart = .pages, limit: Int = 1_000, sealer: (any StoreSealer)? = nil,
        progress: (Double) -> Bool = { _ in true }, onNotice: (@Sendable (StoreNotice) -> Void)? = nil
    ) throws -> CheckReport {
        try check(
            at: folder, from: first, limit: limit, sealer: sealer, progress: progress, onNotice: onNotice, atWalk: {})
    }

    static func check(
        at folder: String, from first: CheckPart = .pages, limit: Int, sealer: (any StoreSealer)? = nil,
        progress: (Double) -> Bool, onNotice: (@Sendable (StoreNotice) -> Void)?,
        atWalk: () throws -> Void
    ) throws -> CheckReport {
        try StoreError.require(limit, 0, "limit", path: folder)
        let inspection = try PageInspection(folder: folder, limit: limit, atWalk: atWalk)
        // A busy writer may reuse the pages of each snapshot while they are read. Opening the store protects one
        // snapshot.
        if !inspection.isSound, !inspection.hasMoved { return try inspection.rawReport(folder, limit: limit, progress) }
        do {
            var options = Options()
            options.readOnly = true
            options.createIfMissing = false
            options.onNotice = onNotice
            options.sealer = sealer
            options.limits.ignoresSeal = sealer == nil
            let store = try open(at: folder, options: options)
            defer { try? store.close() }
            // What is read of a private copy cannot be looked at from outside there.
            if store.core.lacksKey, store.core.file.access == .copy {
                return try inspection.rawReport(folder, limit: limit, progress)
            }
            return try store.check(from: first, limit: limit, progress: progress)
        } catch let error as StoreError where error.code == .damaged || error.code == .notAStore {
            var report = try inspection.rawReport(folder, limit: limit, progress)
            if report.isClean {
                // The cause names the part that is damaged, such as the journal.
                let detail = error.underlying.map { "\(error.detail): \($0)" } ?? error.detail
                report.findings = [Finding(kind: .header, table: TableCode.meta.name, detail: detail)]
            }
            return report
        }
    }
}

extension SampleStore {
    /// Counts what is damaged in the store in a folder, by reading all pages and values with ordinary reads: the
    /// findings about pages, and the values that cannot be read.
    ///
    /// - Parameter step: Called before each value; an error that it throws ends the search.
    package static func countDamage(
        in folder: String, _ step: () throws -> Void
    ) throws -> (pages: Int, values: Int) {
        let inspection = try PageInspection(folder: folder, limit: 0)
        var checker = RawCheck(CheckReport(), limit: 0)
        try checker.run(inspection, step)
        if let failure = checker.failure { throw StoreError.unreadable(folder, failure) }
        return (inspection.findings.count + inspection.omitted, checker.report.omitted)
    }
}

extension PageInspection {
    /// Returns the findings about the pages and about the values that they still lead to.
    fileprivate func rawReport(
        _ folder: String, limit: Int, _ progress: (Double) -> Bool
    ) throws -> CheckReport {
        struct Stopped: Error {}
        if let other = otherFormat, other.code == .older { throw StoreError.wrap(other, path: folder) }
        var report = CheckReport()
        (report.findings, report.omitted) = (findings, omitted)
        var checker = RawCheck(report, limit: limit)
        let all = walk?.tables.reduce(0) { $0 + Double($1.record.entries) } ?? 0
        var done = 0
        do {
            try checker.run(self) {
                done += 1
                if done % 256 == 0, !progress(min(0.99, Double(done) / max(all, 1))) { throw Stopped() }
            }
        } catch is Stopped {
            checker.stop()
        }
        if let failure = checker.failure { throw StoreError.unreadable(folder, failure) }
        return checker.report
    }
}
