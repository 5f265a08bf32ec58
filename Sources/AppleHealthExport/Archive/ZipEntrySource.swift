/// The contents of one entry of an archive.
///
/// All bytes are delivered before an error: one that tells of damage, of a wrong checksum or of a wrong size comes with
/// the read that follows the last byte, and with every read after that. An entry that goes on behind the size that the
/// directory names ends there.
package final class ZipEntrySource: ByteSource {
    /// A piece is never larger, whatever count the caller names.
    private static let pieceSizeMax = 1 << 20
    private static let inputSize = 256 << 10

    package let entry: ZipEntry
    private let file: ArchiveFile
    /// The range of the file that is not read yet.
    private var rest: Range<Int>
    /// `nil` for a stored entry.
    private let inflation: Inflation?
    /// The compressed bytes that were read; those from `inputPosition` on are not decompressed yet.
    private var input: [UInt8] = []
    private var inputPosition = 0
    private var checksum = Checksum()
    private var delivered = 0
    /// The result of every further read.
    private var outcome: Result<Int, ArchiveError>?

    init(_ entry: ZipEntry, of file: ArchiveFile) throws(ArchiveError) {
        if let refusal = entry.refusalError(in: file.name) { throw refusal }
        self.entry = entry
        self.file = file
        rest = try Self.data(of: entry, in: file)
        guard entry.method == ZipFormat.deflated else {
            inflation = nil
            return
        }
        guard let inflation = Inflation() else { throw Self.outOfMemory(entry, file) }
        self.inflation = inflation
    }

    package func read(into buffer: inout [UInt8], atMost count: Int) throws(ArchiveError) -> Int {
        if let outcome { return try outcome.get() }
        guard count > 0 else { return 0 }
        let start = buffer.count
        let failure: ArchiveError?
        do throws(ArchiveError) {
            failure = try append(to: &buffer, atMost: min(count, Self.pieceSizeMax))
        } catch {
            failure = error
        }
        let appended = buffer.count - start
        checksum.add(buffer, from: start)
        delivered += appended
        if let failure {
            outcome = .failure(failure)
        } else if isTooLong {
            // The rest would only cost time.
            outcome = .failure(wrongSize(isOver: true))
        } else if appended == 0 {
            outcome = mismatch().map { .failure($0) } ?? .success(0)
        }
        if appended == 0, let outcome { return try outcome.get() }
        return appended
    }

    /// Appends at least one byte unless the contents end. Returns an error that follows the appended bytes.
    private func append(to buffer: inout [UInt8], atMost count: Int) throws(ArchiveError) -> ArchiveError? {
        let start = buffer.count
        guard let inflation else {
            try readOn(into: &buffer, atMost: count)
            return nil
        }
        while buffer.count == start {
            if inputPosition == input.count && !rest.isEmpty {
                input.removeAll(keepingCapacity: true)
                inputPosition = 0
                try readOn(into: &input, atMost: Self.inputSize)
            }
            switch inflation.decompress(input, from: &inputPosition, into: &buffer, atMost: count) {
            case .running:
                if buffer.count == start && inputPosition == input.count && rest.isEmpty {
                    return file.damaged("its compressed data ends too early", entry: entry.name)
                }
            case .ended:
                guard inputPosition == input.count && rest.isEmpty else {
                    // Ask for nothing more: the decompressor repeats that it ended.
                    return buffer.count > start ? nil : trailing()
                }
                return nil
            case .damaged: return file.damaged("its compressed data is wrong", entry: entry.name)
            case .outOfMemory: return Self.outOfMemory(entry, file)
            }
        }
        return nil
    }

    /// Reads the next bytes of the entry from the file.
    private func readOn(into buffer: inout [UInt8], atMost count: Int) throws(ArchiveError) {
        guard !rest.isEmpty else { return }
        let read = try file.read(at: rest.lowerBound, into: &buffer, atMost: min(count, rest.count))
        if read == 0 { throw file.cutOff(entry: entry.name) }
        rest = rest.lowerBound + read..<rest.upperBound
    }

    /// Whether more was delivered than the directory says, and all that is left cannot make up a size of which the
    /// directory has the low 32 bits.
    private var isTooLong: Bool {
        guard delivered > entry.size else { return false }
        let (most, isVast) = entry.compressedSize.multipliedReportingOverflow(by: Self.greatestRatio)
        return entry.size > UInt32.max || !isVast && most < entry.size + (1 << 32)
    }

    /// The most bytes that one byte of deflate data stands for.
    private static let greatestRatio = 1_032

    private func trailing() -> ArchiveError {
        mismatch() ?? file.damaged("its compressed data is followed by other bytes", entry: entry.name)
    }

    /// Compares the delivered bytes with the directory. Some tools write only the low 32 bits of a size.
    private func mismatch() -> ArchiveError? {
        let isSize =
            delivered == entry.size || entry.size <= UInt32.max && UInt32(truncatingIfNeeded: delivered) == entry.size
        if isSize && checksum.value == entry.crc { return nil }
        if !isSize { return wrongSize(isOver: false) }
        return ArchiveError(
            .mismatch, file: file.name, entry: entry.name,
            "has contents that differ from their checksum. Copy or export the archive again.")
    }

    private func wrongSize(isOver: Bool) -> ArchiveError {
        let size = isOver ? "more than \(entry.size) bytes" : "\(delivered) bytes instead of \(entry.size)"
        return ArchiveError(
            .mismatch, file: file.name, entry: entry.name, "has \(size). Copy or export the archive again.")
    }

    /// Finds the data behind the local header, whose other fields may be zero and are ignored.
    private static func data(of entry: ZipEntry, in file: ArchiveFile) throws(ArchiveError) -> Range<Int> {
        guard entry.offset <= file.size - ZipFormat.localSize else { throw file.cutOff(entry: entry.name) }
        let header = try file.bytes(at: entry.offset, count: ZipFormat.localSize)
        var position = 0
        guard header.number(at: &position, as: UInt32.self) == ZipFormat.localSignature else {
            throw file.damaged("it does not begin where the directory says", entry: entry.name)
        }
        position = ZipFormat.localSize - 2 * MemoryLayout<UInt16>.size
        let nameSize = Int(header.number(at: &position, as: UInt16.self))
        let extraSize = Int(header.number(at: &position, as: UInt16.self))
        let start = entry.offset + ZipFormat.localSize + nameSize + extraSize
        guard start <= entry.limit, entry.compressedSize <= entry.limit - start else {
            throw ArchiveError(
                .overlapping, file: file.name, entry: entry.name,
                "shares its bytes with another entry or the directory. Get the archive from a source that you trust.")
        }
        return start..<start + entry.compressedSize
    }

    private static func outOfMemory(_ entry: ZipEntry, _ file: ArchiveFile) -> ArchiveError {
        ArchiveError(
            .outOfMemory, file: file.name, entry: entry.name,
            "cannot be decompressed, since no memory is left. Close other programs and try again.")
    }
}
