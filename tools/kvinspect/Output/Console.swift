/// Where the tool writes: data to the output, everything else to the error output.
final class Console {
    /// Written in pieces of about this many bytes.
    private static let pieceBytes = 1 << 16

    private let output: OutputStream
    private let errors: OutputStream
    private var buffer: [UInt8] = []
    private var progressBar: String?

    /// Whether bold and colours may be used in the output.
    let isStyled: Bool

    init(output: OutputStream = .output, errors: OutputStream = .error, environment: [String: String]) {
        self.output = output
        self.errors = errors
        let isPlain = environment["NO_COLOR"].map { !$0.isEmpty } ?? false || environment["TERM"] == "dumb"
        isStyled = output.isTerminal && !isPlain
        width = environment["COLUMNS"].flatMap { Int($0) }.map { max(40, $0) } ?? 80
    }

    var isOutputTerminal: Bool { output.isTerminal }
    var isErrorTerminal: Bool { errors.isTerminal }

    /// Columns for help.
    let width: Int

    func write(_ bytes: [UInt8]) throws {
        if bytes.count >= Console.pieceBytes {
            try flush()
            if progressBar != nil { clearBar() }
            return try output.send(bytes)
        }
        buffer.append(contentsOf: bytes)
        if buffer.count >= Console.pieceBytes { try flush() }
    }

    func print(_ text: String) throws {
        buffer.append(contentsOf: text.utf8)
        buffer.append(0x0A)
        if buffer.count >= Console.pieceBytes { try flush() }
    }

    func flush() throws {
        if buffer.isEmpty { return }
        if progressBar != nil { clearBar() }
        let piece = buffer
        buffer.removeAll(keepingCapacity: true)
        try output.send(piece)
    }

    /// Says something to the person, after the data written so far.
    func say(_ text: String) {
        clearBar()
        writeError("\(text)\n")
    }

    /// Shows a line that the next one replaces.
    func showBar(_ line: String) {
        if line == progressBar { return }
        progressBar = line
        writeError("\r\u{1B}[K\(line)")
    }

    func clearBar() {
        guard progressBar != nil else { return }
        progressBar = nil
        writeError("\r\u{1B}[K")
    }

    private func writeError(_ text: String) {
        // There is no third place to report that the error output is gone.
        try? errors.send(Array(text.utf8))
    }
}
