import Testing

@testable import AppleHealthExport

/// Splitting bytes into rows and fields.
@Suite struct CSVScannerTests {
    /// The rows of a text as fields, and its defects as their problem.
    private static func rows(
        _ bytes: [UInt8], pieces: Int = .max, separator: UInt8 = 0x2C, skipping: Int = 0
    ) -> [[String]] {
        var scanner = CSVScanner(separator: separator, skippingLines: skipping)
        var (rows, position) = ([[String]](), 0)
        repeat {
            let end = min(bytes.count, position + min(pieces, bytes.count))
            scanner.append(bytes[position..<end])
            position = end
            loop: while true {
                switch scanner.next(isLast: position == bytes.count) {
                case .nothing: break loop
                case .defect(let problem): rows.append(["!" + problem, "\(scanner.line)", "\(scanner.offset)"])
                case .row:
                    rows.append(
                        scanner.fields.map { String(decoding: scanner.bytes[$0.start..<$0.end], as: UTF8.self) })
                }
            }
        } while position < bytes.count
        return rows
    }

    private static func rows(_ text: String, skipping: Int = 0) -> [[String]] {
        rows(Array(text.utf8), skipping: skipping)
    }

    @Test("Rows end with a line feed, with or without a carriage return, or with the file")
    func lineEnds() {
        #expect(Self.rows("a,b\nc,d\r\ne,f") == [["a", "b"], ["c", "d"], ["e", "f"]])
        #expect(Self.rows("a,b\n") == [["a", "b"]])
        #expect(Self.rows("a,\r\n,\n,") == [["a", ""], ["", ""], ["", ""]])
        #expect(Self.rows("") == [])
        #expect(Self.rows("\n\na") == [[""], [""], ["a"]])
    }

    @Test("Quotes protect separators and line breaks, and two quotes stand for one")
    func quotes() {
        #expect(Self.rows("\"a,b\",\"c\nd\"\r\n\"\",\"e\"\"f\"") == [["a,b", "c\nd"], ["", "e\"f"]])
        #expect(Self.rows("\"\"\"\"\"\",x\n") == [["\"\"", "x"]])
        #expect(Self.rows("5\" disk,b\n") == [["5\" disk", "b"]])
    }

    @Test("A quote that is not doubled or not closed costs its line and no other")
    func defects() {
        let undoubled = Self.rows("a,b\nx,\"y\"z\nc,d\n")
        #expect(undoubled.map { $0[0].prefix(8) } == ["a", "!a quote", "c"])
        #expect(undoubled[1][1...] == ["2", "4"])
        let unclosed = Self.rows("a,b\nx,\"y\nc,d\n")
        #expect(unclosed.map { $0[0].prefix(8) } == ["a", "!a quote", "c"])
    }

    @Test("A byte order mark and lines before the header are skipped")
    func preamble() {
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        #expect(Self.rows(mark + Array("a,b\n".utf8)) == [["a", "b"]])
        #expect(Self.rows(mark + Array("\"x\na,b\n".utf8), skipping: 1) == [["a", "b"]])
        #expect(Self.rows("one\ntwo", skipping: 2) == [])
    }

    @Test("A row of more than a mebibyte is given back up to its first line break, and scanning goes on behind it")
    func overlong() {
        let long = String(repeating: "x", count: CSVScanner.rowLimit + 5)
        for pieces in [1 << 16, 1 << 20, .max] {
            let rows = Self.rows(Array("a,b\n\(long),c\nd,e\n".utf8), pieces: pieces)
            #expect(rows.map { $0[0].prefix(4) } == ["a", "!the", "d"])
            let quoted = Self.rows(Array("a,\"b\n\(long)\nd,e\n".utf8), pieces: pieces)
            #expect(quoted.map { $0[0].prefix(4) } == ["!the", "!the", "d"])
        }
        let most = String(repeating: "x", count: CSVScanner.rowLimit - 1)
        #expect(Self.rows("\(most)\na\n").map { $0[0].prefix(1) } == ["x", "a"])
        #expect(Self.rows("x\(most)\na\n").map { $0[0].prefix(1) } == ["!", "a"])
    }

    @Test("Rows do not depend on how the bytes are cut into pieces")
    func pieces() {
        let text = "\u{FEFF}skip\r\na,\"b\"\"c\"\r\n\"d\r\ne\",f\r\ng,\"h\"i\r\n,\r\n\"j\",\"k\"\r\n\"l,m\nn"
        let whole = Self.rows(Array(text.utf8), skipping: 1)
        #expect(whole.count == 7)
        for length in 1...text.utf8.count {
            #expect(Self.rows(Array(text.utf8), pieces: length, skipping: 1) == whole, "pieces of \(length)")
        }
    }
}
