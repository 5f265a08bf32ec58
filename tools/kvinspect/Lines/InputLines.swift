/// The lines of a file or a pipe, one after another, from one buffer.
struct InputLines {
    /// Longer than the line of any sample, and short enough to keep in memory.
    private static let lineLimit = 64 << 20

    private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

    private let pieces: InputPieces
    private var buffer: [UInt8] = []
    private var start = 0
    private var isAtEnd = false
    private var envelope = DumpEnvelope()

    /// The number of the last line given, counted from one.
    private(set) var number = 0
    /// Bytes given so far.
    private(set) var bytesRead = 0

    init(_ pieces: InputPieces) { self.pieces = pieces }

    /// Takes the next line if `body` knows it: `body` gets the buffered input, and returns the length of the first line
    /// without its end.
    mutating func takeKnown(_ body: (Span<UInt8>) -> Int?) -> Bool {
        guard let length = body(buffer.span.extracting(start...)) else { return false }
        bytesRead += length + 1
        start += length + 1
        number += 1
        return true
    }

    /// Passes the next line, without its end, to `body`; returns `nil` if there is none.
    mutating func next<Result>(_ body: (Span<UInt8>) throws -> Result) throws -> Result? {
        var searched = start
        while true {
            if let newline = InputLines.newline(in: buffer.span, from: searched) {
                return try give(start..<newline, next: newline + 1, body)
            }
            if isAtEnd { return start == buffer.count ? nil : try give(start..<buffer.count, next: buffer.count, body) }
            if buffer.count - start > InputLines.lineLimit {
                throw Failure("Line \(number + 1) is too long. Nothing of its batch was stored.")
            }
            searched = buffer.count - start
            try fill()
        }
    }

    /// Looks at sixteen bytes at a time, without a branch for each.
    private static func newline(in bytes: Span<UInt8>, from start: Int) -> Int? {
        var index = start
        while index + 16 <= bytes.count {
            let block = bytes.extracting(index..<index + 16)
            var count: UInt8 = 0
            for offset in 0..<16 { count &+= block[offset] == 0x0A ? 1 : 0 }
            if count > 0 { break }
            index += 16
        }
        while index < bytes.count {
            if bytes[index] == 0x0A { return index }
            index += 1
        }
        return nil
    }

    private mutating func give<Result>(
        _ range: Range<Int>, next: Int, _ body: (Span<UInt8>) throws -> Result
    ) throws -> Result {
        var range = range
        // Some programs begin a file with the byte order mark of UTF-8.
        if number == 0, buffer[range].starts(with: InputLines.byteOrderMark) {
            range = range.lowerBound + InputLines.byteOrderMark.count..<range.upperBound
        }
        bytesRead += next - start
        start = next
        number += 1
        return try body(buffer.span.extracting(range))
    }

    /// Moves the incomplete line to the front and appends the next piece.
    private mutating func fill() throws {
        let piece = try pieces.next()
        buffer.removeSubrange(..<start)
        start = 0
        try envelope.open(piece, into: &buffer)
        isAtEnd = piece.isEmpty
    }
}
