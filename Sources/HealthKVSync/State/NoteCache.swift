import Synchronization

/// The notes that were decoded or encoded last. An engine reads the same notes again and again, and decoding them took
/// more than a third of the time of simulated syncs. The bytes are the key, so no entry can be out of date.
final class NoteCache<Value: Sendable>: Sendable {
    private let last = Mutex<[(bytes: [UInt8], value: Value)]>([])

    private var limit: Int { 32 }

    /// Returns the value of a note. Only a value that can be decoded is remembered.
    func value(of bytes: [UInt8], decode: ([UInt8]) -> Value?) -> Value? {
        let known = last.withLock { notes -> Value? in
            guard let index = notes.lastIndex(where: { $0.bytes == bytes }) else { return nil }
            notes.append(notes.remove(at: index))
            return notes.last?.value
        }
        if let known { return known }
        guard let value = decode(bytes) else { return nil }
        remember(value, as: bytes)
        return value
    }

    func remember(_ value: Value, as bytes: [UInt8]) {
        last.withLock { notes in
            if notes.count == limit { notes.removeFirst() }
            notes.append((bytes, value))
        }
    }
}
