import HealthKV
import TestSupport

/// Routes with everything that they may have.
enum RandomRoute {
    static func make(_ random: inout SeededGenerator) -> WorkoutRoute {
        var time = Instant(nanoseconds: Int64(random.number(0..<1_000)) * 999_999_937)
        let step: Int64 = random.pick([1_000_000_000, 1, 0, 1_001_000])
        let isDecimal = random.chance(0.6)
        func number(_ bounds: Double, _ random: inout SeededGenerator) -> Double {
            let part = Double(random.number(0..<2_000_001) - 1_000_000) / 1_000_000
            return isDecimal ? (part * bounds * 1_000).rounded() / 1_000 : random.pick([part * bounds, -0.0, 1e-300])
        }
        func measured(_ share: Double, _ random: inout SeededGenerator) -> Double? {
            random.chance(share) ? number(5_000, &random) : nil
        }
        let shares: [Double] = (0..<5).map { _ in random.pick([0, 0.5, 1]) }
        return WorkoutRoute(
            (0..<random.pick([1, 2, 9, 60])).map { _ in
                time = time + .nanoseconds(step)
                return WorkoutRoute.Point(
                    at: time, latitude: number(90, &random), longitude: number(180, &random),
                    altitude: measured(shares[0], &random), horizontalAccuracy: measured(shares[1], &random),
                    verticalAccuracy: measured(shares[2], &random), speed: measured(shares[3], &random),
                    course: measured(shares[4], &random))
            })
    }
}
