/// The units that are not made of others, as HealthKit names them, with their size in grams, meters, seconds and so on.
struct UnitAtom: Sendable {
    let powers: [Base: Int]
    let factor: Double
    var offset = 0.0
    var takesPrefix = false

    enum Base: String, Hashable, Sendable {
        case mass, length, time, temperature, current, count, angle, pharmacology, sound, hearing, light, prism, effort
    }

    private static func metric(_ powers: [Base: Int], _ factor: Double) -> UnitAtom {
        UnitAtom(powers: powers, factor: factor, takesPrefix: true)
    }

    private static func plain(_ powers: [Base: Int], _ factor: Double, offset: Double = 0) -> UnitAtom {
        UnitAtom(powers: powers, factor: factor, offset: offset)
    }

    private static let volume: [Base: Int] = [.length: 3]
    private static let energy: [Base: Int] = [.mass: 1, .length: 2, .time: -2]
    private static let pressure: [Base: Int] = [.mass: 1, .length: -1, .time: -2]

    static let byName: [String: UnitAtom] = metricOnes.merging(others) { metric, _ in metric }

    /// The units of the International System, which take prefixes.
    private static let metricOnes: [String: UnitAtom] = [
        "s": metric([.time: 1], 1), "g": metric([.mass: 1], 1), "m": metric([.length: 1], 1),
        "L": metric(volume, 1e-3), "l": metric(volume, 1e-3), "Pa": metric(pressure, 1e3), "J": metric(energy, 1e3),
        "W": metric([.mass: 1, .length: 2, .time: -3], 1e3), "K": metric([.temperature: 1], 1),
        "V": metric([.mass: 1, .length: 2, .time: -3, .current: -1], 1e3),
        "S": metric([.mass: -1, .length: -2, .time: 3, .current: 2], 1e-3), "Hz": metric([.count: 1, .time: -1], 1),
        "rad": metric([.angle: 1], 1), "lx": metric([.light: 1], 1),
    ]

    /// All other units: `cal` is 4.184 joules, `Cal` is `kcal`, and neither takes a prefix.
    private static let others: [String: UnitAtom] = [
        "min": plain([.time: 1], 60), "hr": plain([.time: 1], 3_600), "d": plain([.time: 1], 86_400),
        "oz": plain([.mass: 1], 453.59237 / 16), "lb": plain([.mass: 1], 453.59237),
        "st": plain([.mass: 1], 14 * 453.59237), "in": plain([.length: 1], 0.0254), "ft": plain([.length: 1], 0.3048),
        "yd": plain([.length: 1], 0.9144), "mi": plain([.length: 1], 1_609.344),
        "fl_oz_us": plain(volume, 29.5735295625e-6), "fl_oz_imp": plain(volume, 28.4130625e-6),
        "pt_us": plain(volume, 473.176473e-6), "pt_imp": plain(volume, 568.26125e-6),
        "cup_us": plain(volume, 236.5882365e-6), "cup_imp": plain(volume, 284.130625e-6),
        "mmHg": plain(pressure, 133_322.387415), "cmAq": plain(pressure, 98_066.5),
        "inHg": plain(pressure, 133_322.387415 * 25.4), "atm": plain(pressure, 101_325_000),
        "cal": plain(energy, 4_184), "kcal": plain(energy, 4_184_000), "Cal": plain(energy, 4_184_000),
        "degC": plain([.temperature: 1], 1, offset: 273.15),
        "degF": plain([.temperature: 1], 5 / 9, offset: 459.67), "count": plain([.count: 1], 1), "%": plain([:], 1),
        "IU": plain([.pharmacology: 1], 1), "deg": plain([.angle: 1], .pi / 180), "dBASPL": plain([.sound: 1], 1),
        "dBHL": plain([.hearing: 1], 1), "D": plain([.length: -1], 1), "pD": plain([.prism: 1], 1),
        "appleEffortScore": plain([.effort: 1], 1),
    ]

    /// Prefixes of two letters come first, because `mc` and `da` begin like shorter ones.
    static let prefixes: [(name: String, factor: Double)] = [
        ("da", 1e1), ("mc", 1e-6), ("d", 1e-1), ("c", 1e-2), ("h", 1e2), ("k", 1e3), ("m", 1e-3), ("M", 1e6),
        ("G", 1e9), ("T", 1e12), ("n", 1e-9), ("p", 1e-12), ("f", 1e-15),
    ]
}
