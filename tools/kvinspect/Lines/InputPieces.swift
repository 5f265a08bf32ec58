import Dispatch
import Synchronization

#if canImport(Foundation)
    // The small Foundation has no file handles.
    import Foundation
#endif

/// A file or pipe in pieces, read ahead on a thread of its own: so that reading and storing overlap, and Ctrl-C is noticed
/// while nothing comes.
final class InputPieces: Sendable {
    private static let pieceBytes = 1 << 18
    /// Pieces that may wait to be taken.
    private static let pieceLimit = 4

    /// Bytes of the file, where it is one.
    let size: Int?

    private let name: String
    private let pieces = Mutex<[Result<Data, Failure>]>([])
    private let filled = DispatchSemaphore(value: 0)
    private let free = DispatchSemaphore(value: 0)

    /// Opens a file, or the input for `-`.
    init(_ file: String) throws {
        name = file == "-" ? "The input" : "The file \(file)"
        let handle: FileHandle
        if file == "-" {
            handle = .standardInput
            size = nil
        } else {
            do {
                handle = try FileHandle(forReadingFrom: URL(fileURLWithPath: file))
            } catch {
                throw Failure("\(name) cannot be read: \(FileReason.text(of: error)).")
            }
            let attributes = try? FileManager.default.attributesOfItem(atPath: file)
            size = attributes?[.type] as? FileAttributeType == .typeRegular ? attributes?[.size] as? Int : nil
        }
        for _ in 0..<InputPieces.pieceLimit { free.signal() }
        Thread.detachNewThread { self.readAll(handle) }
    }

    /// The next piece; an empty one is the end.
    func next() throws -> Data {
        while filled.wait(timeout: .now() + .milliseconds(100)) == .timedOut { try Interruption.check() }
        let piece = pieces.withLock { $0.removeFirst() }
        free.signal()
        return try piece.get()
    }

    private func readAll(_ handle: FileHandle) {
        var isAtEnd = false
        while !isAtEnd {
            free.wait()
            let piece = read(handle)
            isAtEnd = (try? piece.get().isEmpty) ?? true
            pieces.withLock { $0.append(piece) }
            filled.signal()
        }
    }

    private func read(_ handle: FileHandle) -> Result<Data, Failure> {
        do {
            return .success(try handle.read(upToCount: InputPieces.pieceBytes) ?? Data())
        } catch {
            return .failure(Failure("\(name) cannot be read: \(FileReason.text(of: error))."))
        }
    }
}
