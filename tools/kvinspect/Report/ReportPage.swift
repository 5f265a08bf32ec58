import HealthKV

/// The page of a report. It loads nothing and runs nothing, and its size has a bound, however large the store is.
struct ReportPage {
    /// Rows that a list shows.
    private static let rowsMax = 200
    private static let peersMax = 100
    private static let yearsMax = 60
    private static let gapTypes = 20
    /// Calendars end where the page has this many bytes.
    private static let calendarBytesMax = 1_500_000

    private let facts: StoreFacts
    private let text: ReportText
    private var html = HTMLWriter()

    static func bytes(of facts: StoreFacts) -> [UInt8] {
        var page = ReportPage(facts)
        page.write()
        return page.html.bytes
    }

    private init(_ facts: StoreFacts) { (self.facts, text) = (facts, ReportText(zone: facts.zone)) }

    private struct Section {
        let id: String
        let title: String
        let write: @Sendable (ReportPage, inout HTMLWriter) -> Void
    }

    private static let sections = [
        Section(id: "health", title: "Health of the file") { $0.writeHealth(to: &$1) },
        Section(id: "identity", title: "Identity") { $0.writeIdentity(to: &$1) },
        Section(id: "storage", title: "Storage") { $0.writeStorage(to: &$1) },
        Section(id: "types", title: "Types") { $0.writeTypes(to: &$1) },
        Section(id: "sources", title: "Sources") { $0.writeSources(to: &$1) },
        Section(id: "hours", title: "Hours of the day") { $0.writeHours(to: &$1) },
        Section(id: "gaps", title: "Gaps") { $0.writeGaps(to: &$1) },
        Section(id: "sync", title: "Sync") { $0.writeSync(to: &$1) },
        Section(id: "density", title: "Samples over time") { $0.writeDensity(to: &$1) },
    ]

    private var title: String { "Report on \(HTMLWriter.shown(facts.name))" }

    private mutating func write() {
        let page = self
        html.doctype()
        html.element("html", ["lang": "en", "xmlns": "http://www.w3.org/1999/xhtml"]) { html in
            html.line()
            html.element("head") { page.writeHead(to: &$0) }
            html.line()
            html.element("body") { page.writeBody(to: &$0) }
        }
        html.line()
    }

    private func writeHead(to html: inout HTMLWriter) {
        html.empty("meta", ["charset": "utf-8"])
        html.empty("meta", ["http-equiv": "Content-Security-Policy", "content": ReportStyle.policy])
        html.empty("meta", ["name": "viewport", "content": "width=device-width, initial-scale=1"])
        html.empty("meta", ["name": "referrer", "content": "no-referrer"])
        html.empty("meta", ["name": "color-scheme", "content": "light dark"])
        html.element("title", text: title)
        html.style(ReportStyle.sheet)
    }

    private func writeBody(to html: inout HTMLWriter) {
        html.line()
        html.element("a", ["class": "skip", "href": "#content"], text: "Skip to the content")
        html.line()
        html.element("header") { html in
            html.element("h1") { html in
                html.text("Report on ")
                html.stored(facts.name)
            }
            html.element(
                "p", ["class": "verdict \(facts.health.isClean ? "good" : "bad")"], text: facts.health.sentence)
            html.element("p") { html in
                html.text(
                    "\(ReportText.count(facts.samples, "sample")) of \(ReportText.count(facts.types.count, "type")) from "
                        + "\(ReportText.count(facts.sources.count, "source")). Made on \(text.time(facts.made)). Times are in the "
                        + "zone \(text.zoneName). Counts and times only: no health value is on this page."
                )
            }
        }
        html.line()
        html.element("nav", ["aria-label": "Contents"]) { html in
            html.element("ul") { html in
                for section in ReportPage.sections {
                    html.element("li") { $0.element("a", ["href": "#\(section.id)"], text: section.title) }
                }
            }
        }
        html.line()
        html.element("main", ["id": "content", "tabindex": "-1"]) { html in
            for section in ReportPage.sections {
                html.line()
                html.element("section", ["aria-labelledby": section.id]) { html in
                    html.element("h2", ["id": section.id], text: section.title)
                    html.line()
                    section.write(self, &html)
                }
            }
        }
        html.line()
        html.element("footer") { $0.element("p", text: "Made by kvinspect \(ToolVersion.text).") }
        html.line()
    }

    // MARK: Health and identity

    private func writeHealth(to html: inout HTMLWriter) {
        let health = facts.health
        note(
            health.isClean
                ? "Pages, checksums, records, indexes, summaries and sync state were checked, and nothing was found."
                : health.sentence, to: &html)
        if health.isCutShort {
            note("The file changed, or could not be read, while it was checked.", to: &html)
        }
        if health.isSalvaged {
            note(
                "The store cannot be read as it is. The samples of this page were searched for in its pages, as 'kvinspect "
                    + "repair' does; sizes of tables and types are left out.", to: &html)
        }
        for part in health.unread { note("Could not be read: \(HTMLWriter.shown(sentence: part)).", to: &html) }
        for part in health.unexamined.prefix(ReportPage.rowsMax) {
            note("Not looked at: \(HTMLWriter.shown(sentence: part)).", to: &html)
        }
        if !health.findings.isEmpty {
            var table = makeTable("Findings of the check", ["Code", "Table", "Detail"])
            for finding in health.findings {
                table.append(
                    .text(finding.kind.rawValue),
                    [.stored(finding.table), .text(HTMLWriter.shown(sentence: finding.detail))])
            }
            table.write(to: &html)
            noteRest(health.omitted, "finding", to: &html)
        }
        if !health.lost.isEmpty {
            var table = makeTable(
                "Samples that are missing or doubtful, by the days on which they begin",
                [
                    "Type", "What", "#Samples", "From", "To",
                ])
            for part in health.lost.prefix(ReportPage.rowsMax) {
                table.append(
                    .stored(part.type), [.text(part.what), .count(part.samples), .day(part.from), .day(part.to)])
            }
            table.write(to: &html)
            noteRest(health.lost.count - ReportPage.rowsMax, "part", to: &html)
        }
    }

    private func writeIdentity(to html: inout HTMLWriter) {
        var table = makeTable("The store and its file", ["Property", "Value"])
        table.append(.text("File"), [.size(facts.fileBytes)])
        if let info = facts.info {
            table.append(.text("Identity"), [.text(info.storeID.description)])
            table.append(.text("Replica, epoch"), [.text("\(info.replica), \(info.epoch)")])
            table.append(.text("Format version"), [.text("\(info.formatVersion)")])
            table.append(.text("Commit"), [.text("\(info.commit)")])
            table.append(.text("Last transaction"), [.text("\(info.lastTransaction)")])
            table.append(.text("Pages in use"), [.size(info.liveBytes)])
            table.append(.text("Free pages"), [.size(info.freePages * info.pageSize)])
            table.append(.text("Remembered deletions"), [.count(info.tombstones)])
            table.append(.text("Unfinished mass operations"), [.count(info.unfinished)])
        }
        table.write(to: &html)
    }

    // MARK: Storage and types

    private func writeStorage(to html: inout HTMLWriter) {
        guard let info = facts.info else {
            return note("The tables cannot be measured: the store cannot be read as it is.", to: &html)
        }
        var table = makeTable(
            "Tables of the file",
            ["Table", "#Records", "#Pages", "#Size", "#Share of the pages", "#Keys and values", "#Fill"])
        let pages = max(1, info.tables.reduce(0) { $0 + $1.pages })
        for entry in info.tables {
            let bytes = entry.pages * info.pageSize
            table.append(
                .text(entry.name),
                [
                    .count(entry.entries), .count(entry.pages), .size(bytes),
                    .share(Double(entry.pages) / Double(pages)), .size(entry.payloadBytes),
                    .share(bytes > 0 ? Double(entry.payloadBytes) / Double(bytes) : nil),
                ])
        }
        table.write(to: &html)
    }

    private func writeTypes(to html: inout HTMLWriter) {
        if facts.types.isEmpty { return note("There are no samples.", to: &html) }
        // Of a damaged store not all samples can be read that it has counted.
        let isIncomplete = facts.types.contains { $0.recorded != $0.span.samples }
        var table = makeTable(
            "Types of samples, those with the most first",
            ["Type", "#Samples", "#Share", "First", "Last", "#Size", "#Bytes per sample"]
                + (isIncomplete ? ["#Samples by the store's count"] : []))
        for type in facts.types.prefix(ReportPage.rowsMax) {
            table.append(
                .stored(type.name),
                [
                    .count(type.span.samples), share(type.span), .time(type.span.first), .time(type.span.last),
                    .size(type.bytes), .decimal(type.bytesPerSample), .count(type.recorded),
                ])
        }
        table.write(to: &html)
        noteRest(facts.types.count - ReportPage.rowsMax, "type", to: &html)
    }

    private func writeSources(to html: inout HTMLWriter) {
        if facts.sources.isEmpty { return note("There are no samples.", to: &html) }
        var table = makeTable(
            "Apps and devices that samples came from, those with the most first",
            [
                "Source", "Bundle", "#Samples", "#Share", "First", "Last",
            ])
        for source in facts.sources.prefix(ReportPage.rowsMax) {
            table.append(
                .stored(source.source.name),
                [
                    .stored(source.source.bundle), .count(source.span.samples), share(source.span),
                    .time(source.span.first), .time(source.span.last),
                ])
        }
        table.write(to: &html)
        noteRest(facts.sources.count - ReportPage.rowsMax, "source", to: &html)
    }

    private func share(_ span: TallySpan) -> HTMLTable.Cell {
        .share(facts.samples > 0 ? Double(span.samples) / Double(facts.samples) : nil)
    }

    // MARK: Time

    private func writeHours(to html: inout HTMLWriter) {
        var hours = [Int](repeating: 0, count: 24)
        for type in facts.types { for (hour, count) in type.hours.enumerated() { hours[hour] += count } }
        html.element("figure") { html in
            HoursPlot(hours: hours, id: "hours-all", title: "Samples by the hour in which they begin").write(to: &html)
            writeDetails(to: &html) { html in
                var table = makeTable("Samples by the hour in which they begin", ["Hour", "#Samples"])
                for (hour, count) in hours.enumerated() { table.append(.text(HoursPlot.text(hour)), [.count(count)]) }
                table.writeTable(to: &html)
            }
        }
    }

    private func writeGaps(to html: inout HTMLWriter) {
        let types = facts.types.filter { !$0.gaps.isEmpty }
        note(
            "The longest times without a sample, of types with at least \(ReportCollector.frequent) samples. What is damaged "
                + "is no gap.", to: &html)
        if types.isEmpty { return note("There is none.", to: &html) }
        var table = makeTable("Longest gaps by type", ["Type", "#Length", "From", "To"])
        for type in types.prefix(ReportPage.gapTypes) {
            table.append(
                .stored(type.name),
                group: type.gaps.map { [.text(ReportText.duration($0.nanoseconds)), .time($0.from), .time($0.to)] })
        }
        table.write(to: &html)
        noteRest(types.count - ReportPage.gapTypes, "type", to: &html)
    }

    private func writeDensity(to html: inout HTMLWriter) {
        note(
            "How many samples of a type begin on each day of its life; on each week, month or year where it is long.",
            to: &html)
        var shown = 0
        for type in facts.types {
            guard let calendar = type.calendar, html.bytes.count < ReportPage.calendarBytesMax else { break }
            shown += 1
            writeDensity(of: type, calendar, id: "type\(shown)", to: &html)
        }
        noteRest(facts.types.count { $0.span.samples > 0 } - shown, "type", to: &html)
    }

    private func writeDensity(of type: TypeFacts, _ calendar: DensityCalendar, id: String, to html: inout HTMLWriter) {
        let name = HTMLWriter.shown(type.name)
        html.element("h3") { $0.stored(type.name) }
        html.element("figure") { html in
            html.element("div", ["class": "plots"]) { html in
                html.element("div") { html in
                    CalendarPlot(
                        calendar: calendar, id: "\(id)-calendar", title: "Samples of \(name) by \(calendar.step.name)"
                    ).write(to: &html)
                }
                html.element("div") { html in
                    HoursPlot(hours: type.hours, id: "\(id)-hours", title: "Samples of \(name) by hour of the day")
                        .write(to: &html)
                }
            }
            html.element(
                "figcaption",
                text: "\(ReportText.count(type.span.samples, "sample")) on \(ReportText.count(calendar.activeDays)) of "
                    + "\(ReportText.count(calendar.allDays, "day"))")
            writeDetails(to: &html) { html in
                var table = makeTable("Samples of \(name) by year", ["Year", "#Samples", "#Days with samples"])
                for year in calendar.years.suffix(ReportPage.yearsMax) {
                    table.append(.text(String(year.year)), [.count(year.samples), .count(year.days)])
                }
                table.writeTable(to: &html)
                noteRest(calendar.years.count - ReportPage.yearsMax, "earlier year", to: &html)
            }
        }
        html.line()
    }

    // MARK: Sync

    private func writeSync(to html: inout HTMLWriter) {
        if facts.peers.isEmpty {
            note("No peer is known.", to: &html)
        } else {
            var table = makeTable(
                "Queue and anchors by peer",
                [
                    "Peer", "#Waiting", "#Parked", "#Refused", "#Anchors", "Last anchor", "Last seen", "State",
                ])
            for peer in facts.peers.prefix(ReportPage.peersMax) {
                table.append(
                    .stored(peer.name),
                    [
                        .count(peer.queue?[.waiting]), .count(peer.queue?[.parked]), .count(peer.queue?[.quarantined]),
                        .count(peer.anchors), .time(peer.lastAnchor), .time(peer.lastSeen),
                        .text(peer.isRetired ? "retired" : peer.lastSeen == nil ? "not registered" : "registered"),
                    ])
            }
            table.write(to: &html)
            noteRest(facts.peers.count - ReportPage.peersMax, "peer", to: &html)
        }
        if let conflicts = facts.info?.tables.first(where: { $0.name == "audit" })?.entries {
            note("Resolved conflicts: \(ReportText.count(conflicts)).", to: &html)
        }
    }

    // MARK: Parts

    /// A table; `#` before a title marks a column of numbers.
    private func makeTable(_ caption: String, _ titles: [String]) -> HTMLTable {
        let columns = titles.map { title in
            title.hasPrefix("#")
                ? HTMLTable.Column(title: String(title.dropFirst()), isNumber: true) : HTMLTable.Column(title: title)
        }
        return HTMLTable(caption, columns, text)
    }

    private func note(_ text: String, to html: inout HTMLWriter) {
        html.element("p", ["class": "note"], text: text)
        html.line()
    }

    /// Says how many more there are than were shown.
    private func noteRest(_ count: Int, _ noun: String, to html: inout HTMLWriter) {
        if count > 0 { note("And \(ReportText.count(count, "more \(noun)")).", to: &html) }
    }

    /// The numbers of a plot as a table, for those who do not see it.
    private func writeDetails(to html: inout HTMLWriter, _ body: (inout HTMLWriter) -> Void) {
        html.element("details") { html in
            html.element("summary", text: "As a table")
            body(&html)
        }
    }
}
