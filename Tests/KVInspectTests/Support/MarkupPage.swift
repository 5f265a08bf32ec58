import Testing

/// An element of a page that was parsed as XML, strictly: what opens closes in order, texts and attributes are
/// escaped, ids occur once, and references lead somewhere.
final class MarkupNode {
    let name: String
    let attributes: [String: String]
    private(set) var children: [MarkupNode] = []
    private(set) var text = ""

    fileprivate init(_ name: String, _ attributes: [String: String]) {
        (self.name, self.attributes) = (name, attributes)
    }

    fileprivate func append(_ child: MarkupNode) { children.append(child) }
    fileprivate func append(_ text: String) { self.text += text }

    /// The elements of a name inside this one, in the order of the page.
    func all(_ name: String) -> [MarkupNode] {
        children.flatMap { ($0.name == name ? [$0] : []) + $0.all(name) }
    }

    /// All elements inside this one.
    var everything: [MarkupNode] { children.flatMap { [$0] + $0.everything } }

    /// The rows of the table with a caption, as the texts of their cells.
    func rows(_ caption: String, _ location: SourceLocation = #_sourceLocation) throws -> [[String]] {
        let table = try #require(
            all("table").first { $0.all("caption").first?.text == caption }, "\(caption)", sourceLocation: location)
        return table.all("tbody").flatMap { $0.all("tr") }.map { $0.children.map(\.text) }
    }
}

struct MarkupError: Error, CustomStringConvertible {
    let description: String
}

/// Parses a page.
struct MarkupParser {
    private static let entities = ["amp": "&", "lt": "<", "gt": ">", "quot": "\"", "#39": "'"]

    private let scalars: [Unicode.Scalar]
    private var place = 0
    private var open = [MarkupNode("", [:])]

    /// Returns the element `html` of a page.
    static func parse(_ page: String) throws -> MarkupNode {
        var parser = MarkupParser(page)
        try parser.run()
        let root = parser.open[0]
        guard parser.open.count == 1, root.children.count == 1, root.children[0].name == "html" else {
            throw MarkupError(description: "the page is not one element html")
        }
        try check(root)
        return root.children[0]
    }

    private init(_ page: String) { scalars = Array(page.unicodeScalars) }

    private mutating func run() throws {
        try expect("<!DOCTYPE html>\n")
        while place < scalars.count {
            if scalars[place] == "<" { try readTag() } else { try readText() }
        }
    }

    private mutating func readText() throws {
        let text = try readEscaped { $0 == "<" }
        // Whatever holds an element holds its text.
        for node in open { node.append(text) }
        if open.count == 1, text != "\n" { throw fault("text outside the page") }
    }

    private mutating func readTag() throws {
        try expect("<")
        if scalars[place] == "/" {
            place += 1
            let name = readName()
            try expect(">")
            guard open.count > 1, open.removeLast().name == name else {
                throw fault("</\(name)> closes something else")
            }
            return
        }
        let name = readName()
        guard !name.isEmpty else { throw fault("< without a name") }
        var attributes: [String: String] = [:]
        while scalars[place] == " " {
            place += 1
            let key = readName()
            try expect("=\"")
            let value = try readEscaped { $0 == "\"" }
            try expect("\"")
            guard attributes.updateValue(value, forKey: key) == nil else { throw fault("\(key) twice") }
        }
        let node = MarkupNode(name, attributes)
        open[open.count - 1].append(node)
        if scalars[place] == "/" {
            try expect("/>")
        } else {
            try expect(">")
            open.append(node)
        }
    }

    private mutating func readName() -> String {
        var name = ""
        while place < scalars.count, isNameScalar(scalars[place]) {
            name.unicodeScalars.append(scalars[place])
            place += 1
        }
        return name
    }

    private func isNameScalar(_ scalar: Unicode.Scalar) -> Bool {
        ("a"..."z").contains(scalar) || ("A"..."Z").contains(scalar) || ("0"..."9").contains(scalar) || scalar == "-"
    }

    private mutating func readEscaped(until isEnd: (Unicode.Scalar) -> Bool) throws -> String {
        var text = ""
        while place < scalars.count, !isEnd(scalars[place]) {
            let scalar = scalars[place]
            guard scalar != "<", scalar == "\n" || scalar.value >= 0x20, !(0x7F..<0xA0).contains(scalar.value),
                ![0xFFFE, 0xFFFF].contains(scalar.value)
            else { throw fault("a character that must be escaped") }
            place += 1
            if scalar == "&" {
                let end = try #require(scalars[place...].firstIndex(of: ";"), "an entity without end")
                let name = String(String.UnicodeScalarView(scalars[place..<end]))
                guard let entity = MarkupParser.entities[name] else { throw fault("&\(name);") }
                text += entity
                place = end + 1
            } else {
                text.unicodeScalars.append(scalar)
            }
        }
        return text
    }

    private mutating func expect(_ text: String) throws {
        for scalar in text.unicodeScalars {
            guard place < scalars.count, scalars[place] == scalar else { throw fault("\(text) is missing") }
            place += 1
        }
    }

    private func fault(_ what: String) -> MarkupError {
        let before = String(String.UnicodeScalarView(scalars[max(0, place - 60)..<min(place, scalars.count)]))
        return MarkupError(description: "\(what), behind \(before)")
    }

    private static func check(_ root: MarkupNode) throws {
        let ids = root.everything.compactMap { $0.attributes["id"] }
        guard Set(ids).count == ids.count else { throw MarkupError(description: "an id occurs twice") }
        for node in root.everything {
            var references = ["aria-labelledby", "aria-describedby"].compactMap { node.attributes[$0] }
            if let link = node.attributes["href"] {
                guard link.hasPrefix("#") else { throw MarkupError(description: "a link leads outside: \(link)") }
                references.append(String(link.dropFirst()))
            }
            for reference in references where !ids.contains(reference) {
                throw MarkupError(description: "\(reference) leads nowhere")
            }
        }
    }
}
