import HealthKV

/// The view of a store that a terminal shows: each look is drawn over the one before.
struct WatchView {
    private let folder: String
    private let zone: Zone
    private let console: Console
    private let redraws: Bool
    private var totals: [SampleType: WatchedStore.Counts] = [:]
    /// Types by when they last changed.
    private var recent: [SampleType] = []
    private var looks = 0
    private var first: StoreActivity?
    private var drawnLines = 0

    init(folder: String, zone: Zone, _ console: Console) {
        self.folder = folder
        self.zone = zone
        self.console = console
        redraws = console.canRedraw
    }

    mutating func show(_ look: WatchedStore.Look) throws {
        looks += 1
        if look.isRestarted {
            console.say("The store was replaced; counting begins again.")
            (first, totals, recent, drawnLines) = (nil, [:], [], 0)
        }
        let first = first ?? look.activity
        self.first = first
        for (type, counts) in look.changes {
            totals[type, default: WatchedStore.Counts()].added += counts.added
            totals[type, default: WatchedStore.Counts()].deleted += counts.deleted
        }
        let changed = look.changes.keys.sorted()
        recent = changed + recent.filter { look.changes[$0] == nil }
        let rows = rows(look, since: first).map { redraws ? CellText.cut($0, to: console.width - 1) : $0 }
        try draw(rows + types(look))
        try console.flush()
    }

    /// Draws over the last view, and clears what is left of it.
    private mutating func draw(_ lines: [String]) throws {
        guard redraws else {
            for line in (looks > 1 ? [""] : []) + lines { try console.print(line) }
            return
        }
        let lines = console.height.map { Array(lines.prefix(max(1, $0 - 1))) } ?? lines
        let up = drawnLines > 0 ? "\u{1B}[\(drawnLines)A" : ""
        let text = lines.map { "\($0)\u{1B}[K\n" }.joined()
        try console.write(Array("\r\(up)\(text)\u{1B}[J".utf8))
        drawnLines = lines.count
    }

    private func rows(_ look: WatchedStore.Look, since first: StoreActivity) -> [String] {
        let now = look.activity
        let waiting = now.pending.filter { $0.count > 0 }.map { "\(Table.clean($0.peer.rawValue)) \($0.count)" }
        let readers = now.readers.map { "process \($0.process) at \($0.transaction ?? 0)" }
        let ranges = look.rangesRemoved > 0 ? ", \(look.rangesRemoved) ranges removed" : ""
        return [
            ("store", Table.clean(folder)), ("time", "\(DateText.text(look.time, in: zone).prefix(19)), look \(looks)"),
            ("commit", "\(now.commit), \(look.commits) since the last look; transaction \(now.transaction)"),
            ("samples", "\(now.samples), \(look.added) saved and \(look.deleted) deleted\(ranges)"),
            (
                "file",
                "\(ByteSize.text(now.fileBytes)) (\(growth(now.fileBytes, first.fileBytes))), "
                    + "\(ByteSize.text(now.liveBytes)) live, \(now.freePages) free pages"
            ), ("journal", "\(ByteSize.text(now.journalBytes)), \(now.journaledCommits) commits"),
            ("pending", ([total(now.pending.map(\.count))] + waiting).joined(separator: "  ")),
            ("readers", (["\(now.readers.count)"] + readers).joined(separator: "  ")),
        ].map { $0.0 + String(repeating: " ", count: 10 - $0.0.count) + $0.1 }
    }

    private func total(_ counts: [Int]) -> String { "\(counts.reduce(0, +))" }

    private func growth(_ now: Int, _ then: Int) -> String {
        now < then ? "-\(ByteSize.text(then - now))" : "+\(ByteSize.text(now - then))"
    }

    /// The types that changed since the watch began, those that changed last first.
    private func types(_ look: WatchedStore.Look) -> [String] {
        if recent.isEmpty { return [] }
        var table = Table(
            columns: ["type", "saved", "deleted", "saved in all", "deleted in all"],
            limit: console.tableWidth.map { $0 - 1 },
            isStyled: console.isStyled)
        var lines: [String] = []
        for type in recent {
            let (now, all) = (look.changes[type], totals[type])
            lines += table.append([
                .string(type.shortName), .count(now?.added ?? 0), .count(now?.deleted ?? 0), .count(all?.added ?? 0),
                .count(all?.deleted ?? 0),
            ])
        }
        return [""] + lines + table.finish()
    }
}
