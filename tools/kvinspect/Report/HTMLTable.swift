import HealthKV

/// A table with a caption, a header for each column, and one for each row.
struct HTMLTable {
    enum Cell {
        case text(String)
        /// A text that came from elsewhere.
        case stored(String)
        case count(Int?)
        case size(Int?)
        case share(Double?)
        case decimal(Double?)
        case time(Instant?)
        case day(Instant?)
    }

    struct Column {
        let title: String
        var isNumber = false
    }

    let caption: String
    let columns: [Column]
    let times: ReportText
    private(set) var rows: [(header: Cell, span: Int, cells: [Cell])] = []

    init(_ caption: String, _ columns: [Column], _ times: ReportText) {
        (self.caption, self.columns, self.times) = (caption, columns, times)
    }

    mutating func append(_ header: Cell, _ cells: [Cell]) { rows.append((header, 1, cells)) }

    /// Appends several rows under one header.
    mutating func append(_ header: Cell, group: [[Cell]]) {
        for (index, cells) in group.enumerated() { rows.append((header, index == 0 ? group.count : 0, cells)) }
    }

    /// Writes the table into a region that scrolls by keys, too, where it is wider than the page.
    func write(to html: inout HTMLWriter) {
        html.element("div", ["class": "scroll", "role": "region", "tabindex": "0", "aria-label": caption]) {
            writeTable(to: &$0)
        }
        html.line()
    }

    /// Writes the table alone.
    func writeTable(to html: inout HTMLWriter) {
        html.element("table") { html in
            html.element("caption", text: caption)
            html.element("thead") { html in
                html.element("tr") { html in
                    for column in columns {
                        html.element("th", HTMLTable.attributes("col", column.isNumber), { $0.text(column.title) })
                    }
                }
            }
            html.element("tbody") { html in
                for row in rows {
                    html.line()
                    html.element("tr") { write(row.header, row.span, row.cells, to: &$0) }
                }
            }
        }
    }

    private func write(_ header: Cell, _ span: Int, _ cells: [Cell], to html: inout HTMLWriter) {
        if span == 1 {
            html.element("th", ["scope": "row"]) { write(header, to: &$0) }
        } else if span > 1 {
            html.element("th", ["scope": "rowgroup", "rowspan": String(span)]) { write(header, to: &$0) }
        }
        for (column, cell) in zip(columns.dropFirst(), cells) {
            html.element("td", column.isNumber ? ["class": "number"] : [:]) { write(cell, to: &$0) }
        }
    }

    private static func attributes(_ scope: String, _ isNumber: Bool) -> KeyValuePairs<String, String> {
        isNumber ? ["scope": scope, "class": "number"] : ["scope": scope]
    }

    private func write(_ cell: Cell, to html: inout HTMLWriter) {
        switch cell {
        case .text(let text): html.text(text)
        case .stored(let text): html.stored(text)
        case .count(let number): html.text(number.map(ReportText.count) ?? ReportText.nothing)
        case .size(let bytes): html.text(bytes.map(ReportText.size) ?? ReportText.nothing)
        case .share(let share): html.text(share.map(ReportText.share) ?? ReportText.nothing)
        case .decimal(let number): html.text(number.map { ReportText.decimal($0, 1) } ?? ReportText.nothing)
        case .time(let instant): write(instant, times.time, to: &html)
        case .day(let instant): write(instant, times.day, to: &html)
        }
    }

    private func write(_ instant: Instant?, _ text: (Instant) -> String, to html: inout HTMLWriter) {
        guard let instant, instant != .distantPast, instant != .distantFuture else {
            html.text(ReportText.nothing)
            return
        }
        html.element("time", ["datetime": text(instant)], text: text(instant))
    }
}
