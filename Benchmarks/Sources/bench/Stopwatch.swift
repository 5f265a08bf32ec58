import Foundation

/// A clock with nanoseconds, which costs about twenty of them per call.
enum Stopwatch {
    @inline(__always)
    static func now() -> UInt64 {
        var time = timespec()
        // SAFETY: the call fills the struct that it is given.
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
    }

    /// Runs `body` and returns its seconds and its result.
    static func seconds<R>(_ body: () throws -> R) rethrows -> (seconds: Double, answer: R) {
        let from = now()
        let answer = try body()
        return (Double(now() - from) / 1e9, answer)
    }
}

/// The times of repeated operations.
struct Latencies {
    private var nanoseconds: [UInt64] = []

    mutating func reserve(_ count: Int) { nanoseconds.reserveCapacity(count) }
    mutating func add(_ time: UInt64) { nanoseconds.append(time) }

    var count: Int { nanoseconds.count }

    /// The sum of all times.
    var seconds: Double { Double(nanoseconds.reduce(0, +)) / 1e9 }

    /// Percentiles and the maximum.
    struct Percentiles: Equatable {
        var p50 = 0.0
        var p99 = 0.0
        var p999 = 0.0
        var worst = 0.0
    }

    /// Percentiles in microseconds; zeros if there are no times.
    func percentiles() -> Percentiles {
        guard !nanoseconds.isEmpty else { return Percentiles() }
        let sorted = nanoseconds.sorted()
        func at(_ share: Double) -> Double {
            Double(sorted[min(sorted.count - 1, Int(Double(sorted.count) * share))]) / 1000
        }
        return Percentiles(p50: at(0.5), p99: at(0.99), p999: at(0.999), worst: at(1))
    }
}

/// A contestant that cannot run on this machine; the others still run.
struct ContestantIsMissing: Error, CustomStringConvertible {
    let description: String
}

/// Invalid arguments.
struct WrongUsage: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// A failure that makes a run worthless: wrong answers, or a contestant that fails.
struct BenchFailure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
