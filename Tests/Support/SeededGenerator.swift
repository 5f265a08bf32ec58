import Synchronization

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A random number generator that a seed reproduces (SplitMix64).
package struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64
    package let seed: UInt64

    package init(seed: UInt64) {
        state = seed
        self.seed = seed
    }

    /// Different streams of one seed give unrelated sequences.
    package init(seed: UInt64, part: Int) {
        self.init(seed: seed)
        state &+= UInt64(bitPattern: Int64(part)) &* 0xD1B5_4A32_D192_ED03
        _ = next()
    }

    /// Takes a fresh seed and prints it. A run of `tools/test` derives it from the commit and the place of the call, so
    /// that the run can be repeated.
    package init(file: StaticString = #fileID, line: UInt = #line) {
        if let given = SeededGenerator.seedOfRun {
            var mixed = SeededGenerator(seed: given, part: Int(line))
            self.init(seed: "\(file)".utf8.reduce(mixed.next()) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 })
        } else {
            self.init(seed: UInt64.random(in: 0 ... .max))
        }
        print("seed \(seed)")
    }

    private static let seedOfRun = ProcessInfo.processInfo.environment["HEALTHKV_FRESH_SEED"].flatMap { UInt64($0) }

    package mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// Returns `true` with this probability.
    package mutating func chance(_ share: Double) -> Bool { Double.random(in: 0..<1, using: &self) < share }

    package mutating func chance(percent: Int) -> Bool { number(0..<100) < percent }

    package mutating func number(_ range: Range<Int>) -> Int { Int.random(in: range, using: &self) }

    package mutating func pick<Element>(_ elements: [Element]) -> Element { elements.randomElement(using: &self)! }
}

/// A random number generator that a seed reproduces, for use from several threads.
package final class Draws: Sendable {
    private let generator: Mutex<SeededGenerator>

    package init(seed: UInt64) { generator = Mutex(SeededGenerator(seed: seed)) }

    package func next() -> UInt64 { generator.withLock { $0.next() } }
}
