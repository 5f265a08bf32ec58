/// Where the tool writes: data to the output, everything else to the error output.
final class Console {
    /// Written in pieces of about this many bytes.
    private static let pieceBytes = 1 << 16

    private let output: OutputStream
    private let errors: OutputStream
    private var buffer: [UInt8] = []
    private var progressBar: String?
    private let environment: [String: String]
    private var pager: Pager?
    /// What is to be said when the pager has left the screen.
    private var owed: [String] = []

    /// Whether bold and colours may be used in the output.
    let isStyled: Bool

    init(output: OutputStream = .output, errors: OutputStream = .error, environment: [String: String]) {
        self.output = output
        self.errors = errors
        self.environment = environment
        let isPlain = environment["NO_COLOR"].map { !$0.isEmpty } ?? false || environment["TERM"] == "dumb"
        isStyled = output.isTerminal && !isPlain
    }

    /// Whether the output can be drawn over.
    var canRedraw: Bool { output.isTerminal && environment["TERM"] != "dumb" }

    /// Whether a line of the error output can replace itself.
    var showsBars: Bool { errors.isTerminal && environment["TERM"] != "dumb" }

    var isOutputTerminal: Bool { output.isTerminal }

    /// The columns of the output.
    var width: Int { max(40, columns(output)) }

    /// The columns that a table may take; `nil` where nothing cuts a line.
    var tableWidth: Int? { output.isTerminal ? width : nil }

    /// The lines of the terminal; `nil` if the output is none.
    var height: Int? { output.size?.rows }

    /// The columns of a line that replaces itself on the error output.
    var barWidth: Int { max(1, columns(errors) - 1) }

    private func columns(_ stream: OutputStream) -> Int {
        stream.size?.columns ?? environment["COLUMNS"].flatMap { Int($0) } ?? 80
    }

    /// What is printed from now on is a table: if it does not fit on the screen, the user's pager shows it.
    func beginTable() throws {
        try flush()
        if pager == nil { pager = Pager(output, environment: environment) { [weak self] in self?.say($0) } }
    }

    func write(_ bytes: [UInt8]) throws {
        if bytes.count >= Console.pieceBytes {
            try flush()
            return try deliver(bytes)
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
        let piece = buffer
        buffer.removeAll(keepingCapacity: true)
        try deliver(piece)
    }

    /// Shows what is still held back, and waits for the pager.
    func finish() throws {
        defer {
            pager = nil
            for text in owed { say(text) }
            owed = []
        }
        try flush()
        try pager?.finish()
    }

    private func deliver(_ bytes: [UInt8]) throws {
        guard let pager else {
            clearBar()
            return try output.send(bytes)
        }
        try pager.send(bytes) { clearBar() }
    }

    /// Says something to the person, after the data written so far. Names in it may come from elsewhere.
    func say(_ text: String) {
        if pager != nil { return owed.append(text) }
        clearBar()
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { Table.clean(String($0)) }
        writeError(lines.joined(separator: "\n") + "\n")
    }

    /// Shows a line that the next one replaces.
    func showBar(_ line: String) {
        if line == progressBar || pager?.isRunning ?? false { return }
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
