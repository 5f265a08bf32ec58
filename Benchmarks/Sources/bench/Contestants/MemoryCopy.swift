import Foundation
import HealthKV
import Histories

/// The lower limit: copies the same answers from arrays in memory.
struct MemoryCopy {
    private var columns: [SampleType: Columns] = [:]

    /// Takes the columns of a history's types into memory.
    init(_ history: History) {
        for batch in history {
            let types = batch.kinds.map(\.type)
            let canonical = batch.kinds.map { $0.unit == $0.type.canonicalUnit }
            for row in 0..<batch.count {
                let kind = Int(batch.kindOfRow[row])
                let value =
                    canonical[kind]
                    ? batch.values[row]
                    : types[kind].canonicalUnit.flatMap {
                        try? batch.kinds[kind].unit.convert(batch.values[row], to: $0)
                    }
                        ?? batch.values[row]
                columns[types[kind], default: Columns(times: [], values: [])].times.append(batch.starts[row])
                columns[types[kind]]!.values.append(value)
            }
        }
    }

    /// Copies into fresh arrays: the minimum cost for a caller that needs arrays.
    func readAll(_ type: SampleType) -> Columns {
        let source = columns[type] ?? Columns(times: [], values: [])
        return Columns(times: MemoryCopy.copy(source.times), values: MemoryCopy.copy(source.values))
    }

    // SAFETY: the destination has room for as many elements as the source has; both live through the call.
    private static func copy<Element: BitwiseCopyable>(_ source: [Element]) -> [Element] {
        unsafe [Element](unsafeUninitializedCapacity: source.count) { target, count in
            unsafe FreshPages.prepare(UnsafeRawBufferPointer(target))
            unsafe source.withUnsafeBytes {
                if unsafe !$0.isEmpty { unsafe memcpy(target.baseAddress!, $0.baseAddress!, $0.count) }
            }
            count = source.count
        }
    }

    /// Copies block by block into one buffer that stays in the cache, as the limit of a fold over borrowed columns.
    ///
    /// SAFETY: blocks are within both columns and within the buffer of two blocks.
    func copyThroughCache(_ type: SampleType) -> UInt64 {
        let source = columns[type] ?? Columns(times: [], values: [])
        let block = 1024
        return unsafe withUnsafeTemporaryAllocation(of: UInt64.self, capacity: 2 * block) { buffer in
            var last: UInt64 = 0
            unsafe source.times.withUnsafeBufferPointer { times in
                unsafe source.values.withUnsafeBufferPointer { values in
                    for from in stride(from: 0, to: times.count, by: block) {
                        let count = min(block, times.count - from)
                        unsafe memcpy(buffer.baseAddress!, times.baseAddress! + from, count * 8)
                        unsafe memcpy(buffer.baseAddress! + block, values.baseAddress! + from, count * 8)
                        unsafe last &+= buffer[0] &+ buffer[block]
                    }
                }
            }
            return last
        }
    }

    func sum(_ type: SampleType) -> ColumnSum {
        var sum = ColumnSum()
        // SAFETY: both columns have the same count.
        guard let source = columns[type] else { return sum }
        unsafe source.times.withUnsafeBufferPointer { times in
            unsafe source.values.withUnsafeBufferPointer { unsafe sum.add(times, $0) }
        }
        return sum
    }
}
