/// Values by the bytes that stand for them in the input, since the same few repeat on every line.
struct TextCache<Value> {
    private(set) var values: [Value] = []
    private var numbers: [[UInt8]: Int] = [:]
    private var last: (text: [UInt8], number: Int)?

    /// The number of the value that these bytes stand for; `make` makes it if they are new.
    mutating func number(of bytes: Span<UInt8>, _ make: () throws(JSONError) -> Value) throws(JSONError) -> Int {
        if let last, last.text.count == bytes.count, TextCache.isEqual(last.text, bytes) { return last.number }
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
        last = (text, number)
        return number
    }

    private static func isEqual(_ text: [UInt8], _ bytes: Span<UInt8>) -> Bool {
        for index in text.indices where text[index] != bytes[index] { return false }
        return true
    }
}
