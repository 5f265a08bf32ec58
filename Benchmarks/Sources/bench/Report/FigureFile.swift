import Foundation

/// The JSON file: one line per figure, added as soon as it counts, so that an interrupted run keeps its results.
///
/// Lines of earlier runs stay as they are.
struct FigureFile {
    private let file: FileHandle
    /// The offset of this run's first line.
    private let beginning: UInt64

    init(_ path: String) throws {
        if !FileManager.default.fileExists(atPath: path) { try Data().write(to: URL(fileURLWithPath: path)) }
        guard let file = FileHandle(forWritingAtPath: path) else { throw BenchFailure("\(path) cannot be written") }
        self.file = file
        beginning = try file.seekToEnd()
    }

    func add(_ figures: [Figure]) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        for figure in figures { try file.write(contentsOf: encoder.encode(figure) + Data("\n".utf8)) }
    }

    /// Removes this run's lines and rewrites those that still count.
    func replace(with figures: [Figure]) throws {
        try file.truncate(atOffset: beginning)
        try file.seek(toOffset: beginning)
        try add(figures)
    }

    func close() throws { try file.close() }
}
