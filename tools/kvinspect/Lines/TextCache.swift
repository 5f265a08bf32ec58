/// Values by the bytes that stand for them in the input, since the same few repeat on every line.
struct TextCache<Value> {
    private static var slotCount: Int { 64 }

    private(set) var values: [Value] = []
    private var numbers: [[UInt8]: Int] = [:]
    /// The texts asked for last, by a few of their bytes: a hit avoids the dictionary, which reads every byte twice.
    private var slots = [(text: [UInt8], number: Int)](repeating: ([], -1), count: slotCount)

    /// Returns the number of the value for these bytes; `make` creates it if they are new.
    mutating func number(of bytes: Span<UInt8>, _ make: () throws(JSONError) -> Value) throws(JSONError) -> Int {
        let slot = TextCache.slot(of: bytes)
        if slots[slot].number >= 0, TextCache.isEqual(slots[slot].text, bytes) { return slots[slot].number }
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count)
        for index in bytes.indices { text.append(bytes[index]) }
        let number: Int
        if let known = numbers[text] {
            number = known
        } else {
            try values.append(make())
            number = values.count - 1
            numbers[text] = number
        }
        slots[slot] = (text, number)
        return number
    }

    private static func slot(of bytes: Span<UInt8>) -> Int {
        let count = bytes.count
        guard count > 4 else { return count }
        let picked = Int(bytes[count / 2]) &* 5 &+ Int(bytes[count - 2]) &* 3 &+ Int(bytes[count - 3]) &* 7
        return (picked &+ Int(bytes[count * 3 / 4]) &* 11 &+ count) % slotCount
    }

    private static func isEqual(_ text: [UInt8], _ bytes: Span<UInt8>) -> Bool {
        guard text.count == bytes.count else { return false }
        for index in text.indices where text[index] != bytes[index] { return false }
        return true
    }
}
