import Foundation
import Synchronization

/// The source of the objects' UUIDs: the system, or a seed that a simulation repeats.
public enum SimulatedIdentifiers {
    private static let state = Mutex<UInt64?>(nil)

    /// Derives all UUIDs from a seed from now on, for every device and app.
    public static func seed(_ seed: UInt64) { state.withLock { $0 = seed } }

    /// Returns to the system's random UUIDs.
    public static func reset() { state.withLock { $0 = nil } }

    static func next() -> UUID {
        let words: (UInt64, UInt64)? = state.withLock { state in
            guard var word = state else { return nil }
            let words = (mixed(&word), mixed(&word))
            state = word
            return words
        }
        guard let words else { return UUID() }
        func byte(_ word: UInt64, _ index: Int) -> UInt8 { UInt8(truncatingIfNeeded: word >> (8 * UInt64(index))) }
        let (high, low) = words
        return UUID(
            uuid: (
                byte(high, 0), byte(high, 1), byte(high, 2), byte(high, 3), byte(high, 4), byte(high, 5),
                byte(high, 6) & 0x0F | 0x40, byte(high, 7), byte(low, 0) & 0x3F | 0x80, byte(low, 1), byte(low, 2),
                byte(low, 3), byte(low, 4), byte(low, 5), byte(low, 6), byte(low, 7)
            ))
    }

    /// Returns the next number of a SplitMix64 generator.
    private static func mixed(_ state: inout UInt64) -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var word = state
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return word ^ (word >> 31)
    }
}
