/// Memory that decoders fill: a part of an array under construction, or a reused buffer.
///
/// It owns no memory: the array or the ``ScratchColumn`` does. It knows the remaining room and never writes past it.
@safe
public struct OutputColumn<Element: BitwiseCopyable>: ~Copyable {
    // Valid for `capacity` elements while the closure that borrows this column runs; the closure cannot copy it out.
    let base: UnsafeMutablePointer<Element>
    let capacity: Int
    public internal(set) var count: Int

    init(_ base: UnsafeMutablePointer<Element>, capacity: Int) {
        unsafe self.base = base
        self.capacity = capacity
        count = 0
    }

    /// Makes room for `more` elements and returns the address of the first. Traps without room: decoders count before
    /// they write.
    @inline(__always)
    mutating func extend(by more: Int) -> UnsafeMutablePointer<Element> {
        precondition(more >= 0 && more <= capacity - count, "a column is longer than its count says")
        let start = unsafe base + count
        count += more
        return unsafe start
    }

    /// The number of further elements that fit.
    public var room: Int { capacity - count }

    /// Appends the elements of `range` of a decoded column.
    public mutating func append(_ span: Span<Element>, _ range: Range<Int>) {
        let start = unsafe extend(by: range.count)
        // Safe: `extend` has checked the room, the span checks the range.
        unsafe span.extracting(range).withUnsafeBufferPointer { source in
            if let from = source.baseAddress { unsafe start.update(from: from, count: source.count) }
        }
    }

    /// Appends `element` `count` times.
    public mutating func fill(_ element: Element, count: Int) {
        // Safe: `extend` has checked the room.
        unsafe extend(by: count).update(repeating: element, count: count)
    }

    /// Appends one element.
    public mutating func append(_ element: Element) {
        // Safe: `extend` has checked the room.
        unsafe extend(by: 1).update(repeating: element, count: 1)
    }

    public mutating func removeAll() { count = 0 }
}

/// A buffer for one decoded column, allocated once and used for every chunk.
public struct ScratchColumn<Element: BitwiseCopyable>: ~Copyable {
    private var storage: OutputColumn<Element>

    public init(capacity: Int) {
        unsafe storage = OutputColumn(UnsafeMutablePointer<Element>.allocate(capacity: capacity), capacity: capacity)
    }

    deinit { unsafe storage.base.deallocate() }

    /// Clears the buffer and lets `body` fill it.
    public mutating func refill<Failure: Error>(
        _ body: (inout OutputColumn<Element>) throws(Failure) -> Void
    ) throws(Failure) {
        storage.removeAll()
        try body(&storage)
    }

    /// The elements that the last refill wrote.
    public var span: Span<Element> {
        @_lifetime(borrow self)
        get {
            // Safe: the first `count` elements are initialised, and the span cannot outlive this buffer.
            let span = unsafe Span(_unsafeStart: storage.base, count: storage.count)
            return unsafe _overrideLifetime(span, borrowing: self)
        }
    }
}

/// Builds the two arrays of a series in place: the decoder writes directly into the arrays that the caller reads.
public func makeColumns<Failure: Error>(
    capacity: Int,
    _ body: (inout OutputColumn<Int64>, inout OutputColumn<Double>) throws(Failure) -> Void
) throws(Failure) -> (times: [Int64], values: [Double]) {
    var values: [Double] = []
    var failure: Failure?
    // An array of zero capacity is the empty array that the whole process shares, and its count would be written.
    let room = max(1, capacity)
    // Safe: each column counts its writes, and only the written elements become part of its array.
    let times = unsafe [Int64](unsafeUninitializedCapacity: room) { timeBuffer, timeCount in
        values = unsafe [Double](unsafeUninitializedCapacity: room) { valueBuffer, valueCount in
            guard let timeBase = timeBuffer.baseAddress, let valueBase = valueBuffer.baseAddress else { return }
            unsafe HugePages.prepare(UnsafeRawBufferPointer(timeBuffer))
            unsafe HugePages.prepare(UnsafeRawBufferPointer(valueBuffer))
            var times = unsafe OutputColumn(timeBase, capacity: capacity)
            var values = unsafe OutputColumn(valueBase, capacity: capacity)
            do throws(Failure) { try body(&times, &values) } catch { failure = error }
            (timeCount, valueCount) = (times.count, values.count)
        }
    }
    if let failure { throw failure }
    return (times, values)
}
