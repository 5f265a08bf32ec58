import AppleHealthExport
import Testing

@testable import kvinspect

@Suite("Printing")
struct OutputTests {
    private func json(_ value: JSONValue) -> String {
        var writer = JSONWriter()
        writer.value(value)
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    @Test("JSON keeps the order of keys, 64-bit integers, the sign of zero and numbers that are not finite")
    func values() {
        let object = JSONValue.object([
            .init("z", .integer(.max)), .init("a", .integer(.min)), .init("zero", .double(-0.0)),
            .init("whole", .double(3)),
            .init("tenth", .double(0.1)), .init("large", .double(1e300)), .init("nan", .double(.nan)),
            .init("list", .array([.null, .bool(true), .array([]), .object([])])),
        ])
        #expect(
            json(object)
                == #"{"z":9223372036854775807,"a":-9223372036854775808,"zero":-0.0,"whole":3,"tenth":0.1,"large":1e+300,"#
                + #""nan":{"bits":"7ff8000000000000"},"list":[null,true,[],{}]}"#)
    }

    @Test("Numbers are written with the fewest digits that read back exactly")
    func numbers() {
        var state: UInt64 = 17
        func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state >> 11
        }
        var numbers = [
            0.001, 0.0015, 0.0005, 123.456, -0.25, 999_999_999_999.999, 0.1 + 0.2, 1e15 + 0.5, 72.4,
            .leastNonzeroMagnitude,
        ]
        for _ in 0..<20_000 {
            let digits = Double(next() % 1_000_000_000_000)
            numbers += [digits / 1_000, -digits / 100, digits / 10, digits / 10_000, (digits / 1_000).nextUp]
            numbers.append(Double(bitPattern: next() << 11))
        }
        for number in numbers where number.isFinite && number != number.rounded() {
            #expect(json(.double(number)) == number.description)
        }
    }

    @Test("Text is escaped as JSON requires")
    func escapes() {
        #expect(
            json(.string("a\"\\\n\r\t\u{8}\u{c}\u{1}é😀°\u{7f}\u{80}\u{9b}\u{a0}"))
                == #""a\"\\\n\r\t\b\f\u0001é😀°\u007f\u0080\u009b"# + "\u{a0}\"")
    }

    @Test("CSV quotes fields with a comma, a quote, a line break or blanks around them, and ends lines with CR LF")
    func csv() {
        let line = CSV.line(["plain", "", "a,b", "say \"hi\"", "two\nlines", " space "])
        #expect(
            String(decoding: line, as: UTF8.self) == "plain,,\"a,b\",\"say \"\"hi\"\"\",\"two\nlines\",\" space \"\r\n")
    }

    @Test("A table aligns numbers to the right and widens for its longest cell")
    func table() {
        var table = Table(columns: ["name", "count", "note"], isStyled: false)
        var lines = table.append([.string("steps"), .integer(12_345), .null])
        lines += table.append([.string("weight, long"), .integer(1), .string("x")])
        lines += table.finish()
        #expect(lines == ["name          count  note", "steps         12345  ", "weight, long      1  x"])
    }

    @Test("Control characters for the terminal are printed as escapes")
    func control() {
        #expect(Table.clean("a\u{1B}[31mb\u{202E}c\n") == "a\\u{1b}[31mb\\u{202e}c\\u{a}")
    }

    @Test("Nested objects become columns")
    func flattened() {
        let value = JSONValue.object([
            .init("a", .object([.init("b", .integer(1)), .init("c", .object([.init("d", .null)]))]))
        ])
        #expect(value.flattened == [.init("a.b", .integer(1)), .init("a.c.d", .null)])
    }
}
