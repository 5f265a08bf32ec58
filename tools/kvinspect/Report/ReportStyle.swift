import HealthKV

/// The look of the page, and the policy under which a browser may show it: the one style sheet and nothing else.
enum ReportStyle {
    /// Browsers refuse a sheet with another digest than this.
    static var policy: String {
        var digest = SHA256()
        digest.update(Array(sheet.utf8))
        return
            "default-src 'none'; style-src 'sha256-\(base64(digest.finalize()))'; base-uri 'none'; form-action 'none'"
    }

    private static func base64(_ bytes: [UInt8]) -> String {
        let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
        var text = ""
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            let word = (0..<3).reduce(0) { $0 << 8 | ($1 < group.count ? Int(group[start + $1]) : 0) }
            for place in 0..<4 { text.append(place <= group.count ? digits[word >> (18 - 6 * place) & 63] : "=") }
        }
        return text
    }

    static let sheet = """

        :root { color-scheme: light dark; --page: #fff; --text: #1d2430; --soft: #58616f; --line: #d5dae2; --link: #1257a8;
          --level0: #e9ecf1; --level1: #b9d5f2; --level2: #6ba6de; --level3: #2b70b3; --level4: #0f3d6b;
          --good: #12662f; --bad: #a11520; }
        @media (prefers-color-scheme: dark) { :root { --page: #12161d; --text: #e4e8ee; --soft: #9da7b6; --line: #333c49;
          --link: #7db7f5; --level0: #232a34; --level1: #17416d; --level2: #2869a9; --level3: #5c9fde; --level4: #bcdcfb;
          --good: #74cf92; --bad: #ff8d8d; } }
        * { box-sizing: border-box; }
        body { margin: 0 auto; max-width: 72rem; padding: 1rem; background: var(--page); color: var(--text);
          font: 1rem/1.5 system-ui, sans-serif; }
        a { color: var(--link); }
        :focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
        .skip { position: absolute; left: -100rem; }
        .skip:focus { left: 1rem; top: 0.5rem; padding: 0.3rem 0.6rem; background: var(--page); }
        h1 { margin: 0.5rem 0 0; font-size: 1.7rem; overflow-wrap: anywhere; }
        h2 { margin: 2.2rem 0 0.6rem; padding-top: 0.6rem; border-top: 1px solid var(--line); font-size: 1.3rem; }
        h3 { margin: 1.6rem 0 0.3rem; font-size: 1.05rem; overflow-wrap: anywhere; }
        p { margin: 0.4rem 0; max-width: 60rem; }
        nav ul { display: flex; flex-wrap: wrap; gap: 0.2rem 1.2rem; margin: 0.6rem 0; padding: 0; list-style: none; }
        .verdict { font-weight: 600; }
        .good { color: var(--good); }
        .bad { color: var(--bad); }
        .scroll { overflow-x: auto; margin: 0.6rem 0; }
        table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
        caption { padding: 0.2rem 0; color: var(--soft); text-align: left; }
        th, td { padding: 0.2rem 1.2rem 0.2rem 0; border-bottom: 1px solid var(--line); text-align: left;
          vertical-align: top; white-space: nowrap; }
        td.wide, th[scope=row], th[scope=rowgroup] { white-space: normal; overflow-wrap: anywhere; }
        th { font-weight: 600; }
        tbody th { min-width: 10rem; font-weight: 400; }
        .number { text-align: right; }
        svg { max-width: 100%; height: auto; }
        svg text { fill: var(--soft); font-size: 10px; }
        .plots { display: flex; flex-wrap: wrap; gap: 0.6rem 2rem; align-items: flex-end; }
        .cells { fill: none; stroke-width: 9; }
        .level0 { stroke: var(--level0); }
        .level1 { stroke: var(--level1); }
        .level2 { stroke: var(--level2); }
        .level3 { stroke: var(--level3); }
        .level4 { stroke: var(--level4); }
        .bars { fill: var(--level3); }
        .axis { stroke: var(--line); }
        .legend, .note, figcaption, footer { color: var(--soft); font-size: 0.85rem; }
        .legend span { margin-left: 0.5rem; white-space: nowrap; }
        figure { margin: 0.4rem 0 1rem; }
        summary { width: fit-content; color: var(--link); cursor: pointer; font-size: 0.85rem; }
        footer { margin-top: 2.5rem; border-top: 1px solid var(--line); }
        @media print {
          :root { color-scheme: light; --page: #fff; --text: #000; --soft: #444; --line: #bbb; --link: #000;
            --level0: #e9ecf1; --level1: #b9d5f2; --level2: #6ba6de; --level3: #2b70b3; --level4: #0f3d6b;
            --good: #000; --bad: #000; }
          body { max-width: none; padding: 0; font-size: 10pt; }
          nav, .skip, details { display: none; }
          .scroll { overflow: visible; }
          h2, h3, caption { break-after: avoid; }
          figure, tr { break-inside: avoid; }
          svg { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
        }

        """
}
