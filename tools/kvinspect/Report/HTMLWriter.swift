/// Writes HTML that is well-formed XML too: what is opened is closed, and every text is escaped.
struct HTMLWriter {
    /// The characters of a name, and of a sentence about the file, that are shown at most.
    private static let longestName = 80
    private static let longestSentence = 200

    private(set) var bytes: [UInt8] = []

    /// Begins a page.
    mutating func doctype() { bytes.append(contentsOf: "<!DOCTYPE html>\n".utf8) }

    mutating func element(
        _ name: String, _ attributes: KeyValuePairs<String, String> = [:], _ body: (inout HTMLWriter) -> Void
    ) {
        open(name, attributes, ">")
        body(&self)
        bytes.append(contentsOf: "</\(name)>".utf8)
    }

    mutating func element(_ name: String, _ attributes: KeyValuePairs<String, String> = [:], text: String) {
        element(name, attributes) { $0.text(text) }
    }

    /// An element without content.
    mutating func empty(_ name: String, _ attributes: KeyValuePairs<String, String> = [:]) {
        open(name, attributes, "/>")
    }

    /// A style sheet. HTML and XML agree on its bytes, since it holds neither `<` nor `&`.
    mutating func style(_ sheet: String) {
        bytes.append(contentsOf: "<style>\(sheet)</style>".utf8)
    }

    mutating func text(_ text: String) { HTMLWriter.escape(text, into: &bytes) }

    /// A text that came from elsewhere: control characters are spelled out, its direction stays its own, and it is cut
    /// where it is long.
    mutating func stored(_ text: String) { element("bdi", text: HTMLWriter.shown(text)) }

    /// A name from elsewhere as it may stand in an attribute or a title.
    static func shown(_ name: String) -> String { shown(name, atMost: longestName) }

    /// A sentence of the store about its file, which may hold names.
    static func shown(sentence: String) -> String { shown(sentence, atMost: longestSentence) }

    private static func shown(_ text: String, atMost limit: Int) -> String {
        let clean = Table.clean(text)
        return clean.count <= limit ? clean : "\(clean.prefix(limit - 1))…"
    }

    mutating func line() { bytes.append(0x0A) }

    private mutating func open(_ name: String, _ attributes: KeyValuePairs<String, String>, _ end: String) {
        bytes.append(contentsOf: "<\(name)".utf8)
        for (key, value) in attributes {
            bytes.append(contentsOf: " \(key)=\"".utf8)
            HTMLWriter.escape(value, into: &bytes)
            bytes.append(0x22)
        }
        bytes.append(contentsOf: end.utf8)
    }

    private static func escape(_ text: String, into bytes: inout [UInt8]) {
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": bytes.append(contentsOf: "&amp;".utf8)
            case "<": bytes.append(contentsOf: "&lt;".utf8)
            case ">": bytes.append(contentsOf: "&gt;".utf8)
            case "\"": bytes.append(contentsOf: "&quot;".utf8)
            case "'": bytes.append(contentsOf: "&#39;".utf8)
            default: bytes.append(contentsOf: String(isText(scalar) ? scalar : "\u{FFFD}").utf8)
            }
        }
    }

    /// Whether XML has the character at all.
    private static func isText(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x09, 0x0A, 0x0D: true
        case 0..<0x20, 0xFFFE, 0xFFFF: false
        default: true
        }
    }
}
