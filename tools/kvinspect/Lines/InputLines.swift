/// The lines of a file or a pipe, one after another, from one buffer.
struct InputLines {
    /// Longer than any sample can be written, short enough to be held.
    static let lineLimit = 64 << 20
    private static let pieceBytes = 1 << 20

    private let descriptor: Descriptor
    private var buffer: [UInt8] = []
    private var start = 0
    private var end = 0
    private var isAtEnd = false

    /// The number of the last line given, counted from one.
    private(set) var number = 0
    /// Bytes given so far.
    private(set) var bytesRead = 0

    init(_ descriptor: Descriptor) {
        self.descriptor = descriptor
        buffer = [UInt8](repeating: 0, count: InputLines.pieceBytes)
    }

    /// Hands the next line, without its end, to `body`; `nil` when there is none.
    mutating func next<Result>(_ body: (Span<UInt8>) throws -> Result) throws -> Result? {
        var searched = start
        while true {
            if let newline = newline(from: searched) {
                return try give(newline, next: newline + 1, body)
            }
            searched = end
            if isAtEnd { return start == end ? nil : try give(end, next: end, body) }
            if end - start > InputLines.lineLimit {
                throw Failure("Line \(number + 1) is too long. Nothing of its batch was stored.")
            }
            searched -= start
            try fill()
        }
    }

    private mutating func give<Result>(
        _ stop: Int, next: Int, _ body: (Span<UInt8>) throws -> Result
    ) throws -> Result {
        let range = start..<stop
        bytesRead += next - start
        start = next
        number += 1
        return try body(buffer.span.extracting(range))
    }

    private func newline(from position: Int) -> Int? {
        buffer[position..<end].firstIndex(of: 0x0A)
    }

    /// Moves the begun line to the front and reads more behind it.
    private mutating func fill() throws {
        if start > 0 {
            buffer.replaceSubrange(0..<end - start, with: Array(buffer[start..<end]))
            end -= start
            start = 0
        }
        if end == buffer.count { buffer.append(contentsOf: repeatElement(0, count: buffer.count)) }
        let count = try descriptor.receive(into: &buffer, from: end)
        end += count
        isAtEnd = count == 0
    }
}
