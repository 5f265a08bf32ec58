/// The pages of a data file as raw bytes, for tests that damage them.
package enum DataPages {
    package static let size = 4_096

    /// Tells a branch page from a later page of a long value, which may begin with anything: a page begins with its
    /// number, and has its kind at the 11th byte.
    package static func isBranch(_ bytes: [UInt8], _ number: Int) -> Bool {
        let begin = number * size
        let own = (0..<8).reduce(0 as UInt64) { $0 | UInt64(bytes[begin + $1]) << (8 * UInt64($1)) }
        return own == UInt64(number) && bytes[begin + 10] == 1 && bytes[begin + 11] == 0
    }

    /// Overwrites the pages with these numbers with zeros.
    package static func zero(_ bytes: inout [UInt8], where isTaken: (Int) -> Bool) {
        for number in 0..<bytes.count / size where isTaken(number) {
            for offset in number * size..<(number + 1) * size { bytes[offset] = 0 }
        }
    }

    /// Takes the meta pages and all branch pages: no tree is left.
    package static func zeroTrees(_ bytes: inout [UInt8]) {
        let whole = bytes
        zero(&bytes) { $0 < 2 || isBranch(whole, $0) }
    }
}
