import Dispatch
import Synchronization

#if canImport(Foundation)
    // The small Foundation has no file handles.
    import Foundation
#endif

/// Reads a file or pipe in pieces, ahead of its user, on a thread of its own. So reading and storing overlap, and
/// Ctrl-C works while no input arrives.
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
        let attributes = try? FileManager.default.attributesOfItem(atPath: file)
        let kind = attributes?[.type] as? FileAttributeType
        size = file != "-" && kind == .typeRegular ? attributes?[.size] as? Int : nil
        for _ in 0..<InputPieces.pieceLimit { free.signal() }
        if file == "-" {
            Thread.detachNewThread { self.readAll(.success(.standardInput)) }
        } else if kind == nil || kind == .typeRegular {
            let handle = try open(file).get()
            Thread.detachNewThread { self.readAll(.success(handle)) }
        } else {
            // Opening a pipe blocks until another process opens it for writing.
            Thread.detachNewThread { self.readAll(self.open(file)) }
        }
    }

    private func open(_ file: String) -> Result<FileHandle, Failure> {
        do {
            return .success(try FileHandle(forReadingFrom: URL(fileURLWithPath: file)))
        } catch {
            return .failure(Failure("\(name) cannot be read: \(FileReason.text(of: error))."))
        }
    }

    /// The next piece; an empty one is the end.
    func next() throws -> Data {
        while filled.wait(timeout: .now() + .milliseconds(100)) == .timedOut { try Interruption.check() }
        let piece = pieces.withLock { $0.removeFirst() }
        free.signal()
        return try piece.get()
    }

    private func readAll(_ handle: Result<FileHandle, Failure>) {
        var isAtEnd = false
        while !isAtEnd {
            free.wait()
            let piece = handle.flatMap(read)
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
