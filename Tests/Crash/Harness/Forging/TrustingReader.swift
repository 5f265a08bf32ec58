import TestSupport

/// A planted fault: a reader that trusts the counts in records, which no reader of the store may do. It reads beyond
/// its bytes, or loops as often as a count says; the battery must find both.
enum TrustingReader {
    static func read(_ changes: StoredRows.Changes) {
        for change in changes {
            guard let value = change.value, let fields = SealedValue(value)?.columns.first?.bytes, fields.count >= 4
            else { continue }
            let count = fields.number(0)
            var sum = UInt64(0)
            if count < 1 << 16 {
                sum = UInt64(fields[count])
            } else {
                for step in 0..<count { sum = sum &* 31 &+ UInt64(fields[step % fields.count]) }
            }
            if sum == 1 { complain("") }
        }
    }
}
