import TestSupport

/// A planted fault: a reader that believes the counts of records, as none of the store's may. It meets the end of its
/// bytes, or goes on for as long as a count says; the battery must find both.
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
