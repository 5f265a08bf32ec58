import Testing

@testable import kvinspect

@Suite("Reading JSON")
struct JSONScannerTests {
    private func double(_ text: String) throws -> Double {
        let bytes = Array(text.utf8)
        var scanner = JSONScanner(bytes.span)
        let number = try scanner.double()
        try scanner.end()
        return number
    }

    private func string(_ bytes: [UInt8]) throws -> String {
        var scanner = JSONScanner(bytes.span)
        let text = try scanner.string()
        try scanner.end()
        return text
    }

    @Test("Numbers in JSON's notation are parsed bit for bit")
    func numbers() throws {
        let cases: [(String, Double)] = [
            ("0", 0), ("-0", -0.0), ("-0.0", -0.0), ("12", 12), ("72.4", 72.4), ("0.1", 0.1), ("-1e-3", -0.001),
            ("1E+2", 100), ("9007199254740993", 9_007_199_254_740_992), ("5e-324", .leastNonzeroMagnitude),
            ("1.7976931348623157e308", .greatestFiniteMagnitude), ("0.30000000000000004", 0.1 + 0.2),
            ("123456789012345678901234567890", 123_456_789_012_345_677_877_719_597_056 as Double),
        ]
        for (text, number) in cases { #expect(try double(text).bitPattern == number.bitPattern, "\(text)") }
        #expect(try double(#"{"bits":"7ff8000000000001"}"#).bitPattern == 0x7FF8_0000_0000_0001)
    }

    @Test(
        "A text that is not a number in JSON is refused",
        arguments: [
            "", "-", "+1", "01", "-01", ".5", "1.", "1e", "1e+", "0x10", "NaN", "Infinity", "1_000", "1 2", "1e999",
            "-1e999",
            #"{"bits":"7ff8"}"#, #"{"bits":"7ff800000000000g"}"#, #"{"bots":"7ff8000000000001"}"#, "{}",
            #"{"bits":"7ff8000000000001","x":1}"#, #"{"bits":1}"#, "\"1\"", "true", "null", "[1]",
        ])
    func badNumbers(_ text: String) { #expect(throws: JSONError.self) { try double(text) } }

    @Test("Integers of 64 bits are exact, and other numbers are not accepted as integers")
    func integers() throws {
        func integer(_ text: String) throws -> Int64 {
            let bytes = Array(text.utf8)
            var scanner = JSONScanner(bytes.span)
            return try scanner.integer()
        }
        #expect(try integer("9223372036854775807") == .max)
        #expect(try integer("-9223372036854775808") == .min)
        for text in ["9223372036854775808", "-9223372036854775809", "1.0", "1e3", "\"1\"", ""] {
            #expect(throws: JSONError.self) { try integer(text) }
        }
    }

    @Test("Valid escapes are decoded, and broken ones refused")
    func strings() throws {
        #expect(try string(Array(#""a\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00""#.utf8)) == "a\"\\/\u{8}\u{c}\n\r\té😀")
        let bad = [
            #""abc"#, #""a\"#, #""\x""#, #""\u12""#, #""\u12g4""#, #""\ud83d""#, #""\ud83dx""#, #""\ude00""#,
            #""\ud83d\u0041""#, "\"a\nb\"", "\"\0\"",
        ]
        for text in bad { #expect(throws: JSONError.self, "\(text)") { try string(Array(text.utf8)) } }
    }

    @Test(
        "Bytes that are not UTF-8 are refused",
        arguments: [[0x80], [0xC0, 0xAF], [0xE2, 0x82], [0xED, 0xA0, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xFF]]
            as [[UInt8]])
    func encoding(_ bytes: [UInt8]) { #expect(throws: JSONError.self) { try string([0x22] + bytes + [0x22]) } }

    @Test("Every finite double is written and read back bit for bit")
    func roundTrip() throws {
        var seed = UInt64.random(in: 0 ... .max)
        print("seed \(seed)")
        for round in 0..<50_000 {
            seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let scaled = Double(seed >> 40) / [1, 10, 100, 1000, 16, 3][round % 6]
            for number in [Double(bitPattern: seed), scaled, -scaled] {
                var writer = JSONWriter()
                writer.double(number)
                let text = String(decoding: writer.bytes, as: UTF8.self)
                #expect(try double(text).bitPattern == number.bitPattern, "\(text)")
            }
        }
    }
}
