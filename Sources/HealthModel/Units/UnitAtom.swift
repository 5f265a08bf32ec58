/// A unit that consists of no other unit, by HealthKit's name, with its size in grams, meters, seconds and so on.
struct UnitAtom: Sendable {
    typealias Base = HealthUnit.Dimension.Base

    let symbol: String
    let dimension: HealthUnit.Dimension
    let factor: ExactNumber
    /// The number to add to a value before it is multiplied by the factor; for temperatures.
    let offset: ExactNumber?
    /// Whether metric prefixes apply to the unit.
    let takesPrefix: Bool
    /// Other spellings.
    var aliases: [String] = []

    init(
        _ symbol: String, _ dimension: [Base: Int8], _ factor: ExactNumber, offset: ExactNumber? = nil,
        prefixed: Bool = false, aliases: [String] = []
    ) {
        self.symbol = symbol
        self.dimension = HealthUnit.Dimension(dimension)
        self.factor = factor
        self.offset = offset
        takesPrefix = prefixed
        self.aliases = aliases
    }

    private static let volume: [Base: Int8] = [.length: 3]
    private static let energy: [Base: Int8] = [.mass: 1, .length: 2, .time: -2]
    private static let pressure: [Base: Int8] = [.mass: 1, .length: -1, .time: -2]

    private static func exact(_ numerator: UInt64, per denominator: UInt64 = 1) -> ExactNumber {
        ExactNumber(numerator, denominator)
    }

    /// The position in this list orders the factors of a product, as HealthKit does: `mL/min·kg` and `kcal/hr·kg`.
    static let all: [UnitAtom] = [
        UnitAtom("s", [.time: 1], exact(1), prefixed: true),
        UnitAtom("min", [.time: 1], exact(60)),
        UnitAtom("hr", [.time: 1], exact(3_600)),
        UnitAtom("d", [.time: 1], exact(86_400)),
        UnitAtom("g", [.mass: 1], exact(1), prefixed: true),
        UnitAtom("oz", [.mass: 1], exact(45_359_237, per: 1_600_000)),
        UnitAtom("lb", [.mass: 1], exact(45_359_237, per: 100_000)),
        UnitAtom("st", [.mass: 1], exact(14 * 45_359_237, per: 100_000)),
        UnitAtom("m", [.length: 1], exact(1), prefixed: true),
        UnitAtom("in", [.length: 1], exact(254, per: 10_000)),
        UnitAtom("ft", [.length: 1], exact(3_048, per: 10_000)),
        UnitAtom("yd", [.length: 1], exact(9_144, per: 10_000)),
        UnitAtom("mi", [.length: 1], exact(1_609_344, per: 1_000)),
        UnitAtom("L", volume, exact(1, per: 1_000), prefixed: true, aliases: ["l"]),
        // By definition, a US gallon is 231 cubic inches and an imperial gallon 4.54609 liters; each has eight pints.
        UnitAtom("fl_oz_us", volume, exact(295_735_295_625, per: 10_000_000_000_000_000)),
        UnitAtom("fl_oz_imp", volume, exact(284_130_625, per: 10_000_000_000_000)),
        UnitAtom("pt_us", volume, exact(473_176_473, per: 1_000_000_000_000)),
        UnitAtom("pt_imp", volume, exact(56_826_125, per: 100_000_000_000)),
        UnitAtom("cup_us", volume, exact(2_365_882_365, per: 10_000_000_000_000)),
        UnitAtom("cup_imp", volume, exact(284_130_625, per: 1_000_000_000_000)),
        UnitAtom("Pa", pressure, exact(1_000), prefixed: true),
        UnitAtom("mmHg", pressure, exact(133_322_387_415, per: 1_000_000)),
        UnitAtom("cmAq", pressure, exact(980_665, per: 10)),
        UnitAtom("inHg", pressure, exact(133_322_387_415 * 254, per: 10_000_000)),
        UnitAtom("atm", pressure, exact(101_325_000)),
        UnitAtom("J", energy, exact(1_000), prefixed: true),
        UnitAtom("cal", energy, exact(4_184)),
        UnitAtom("kcal", energy, exact(4_184_000), aliases: ["Cal"]),
        UnitAtom("W", [.mass: 1, .length: 2, .time: -3], exact(1_000), prefixed: true),
        UnitAtom("K", [.temperature: 1], exact(1), prefixed: true),
        UnitAtom("degC", [.temperature: 1], exact(1), offset: exact(27_315, per: 100)),
        UnitAtom("degF", [.temperature: 1], exact(5, per: 9), offset: exact(45_967, per: 100)),
        UnitAtom("V", [.mass: 1, .length: 2, .time: -3, .current: -1], exact(1_000), prefixed: true),
        UnitAtom("S", [.mass: -1, .length: -2, .time: 3, .current: 2], exact(1, per: 1_000), prefixed: true),
        UnitAtom("Hz", [.count: 1, .time: -1], exact(1), prefixed: true),
        UnitAtom("count", [.count: 1], exact(1)),
        UnitAtom("%", [:], exact(1)),
        UnitAtom("IU", [.pharmacology: 1], exact(1)),
        UnitAtom("rad", [.angle: 1], exact(1), prefixed: true),
        UnitAtom("deg", [.angle: 1], degree),
        UnitAtom("dBASPL", [.soundLevel: 1], exact(1)),
        UnitAtom("dBHL", [.hearingLevel: 1], exact(1)),
        UnitAtom("lx", [.illuminance: 1], exact(1), prefixed: true),
        UnitAtom("D", [.length: -1], exact(1)),
        UnitAtom("pD", [.prism: 1], exact(1), aliases: ["prism_diopter"]),
        UnitAtom("appleEffortScore", [.effort: 1], exact(1)),
    ]

    /// The only irrational factor: π / 180, to far more digits than a double holds.
    private static let degree: ExactNumber = {
        let pi = ExactNumber(decimal: Array("3.14159265358979323846264338327950288419716939937511".utf8))!
        return pi / ExactNumber(180)
    }()

    /// The amount of substance. HealthKit has it only with a molar mass in grams, so its dimension is mass.
    static let mole = all.count

    static let bySymbol: [String: Int] = {
        var positions: [String: Int] = [:]
        for (position, atom) in all.enumerated() {
            for name in [atom.symbol] + atom.aliases { positions[name] = position }
        }
        return positions
    }()

    /// The metric prefixes and their powers of ten, in lookup order: two letters before one.
    static let prefixes: [(symbol: String, power: Int)] = [
        ("da", 1), ("mc", -6), ("d", -1), ("c", -2), ("h", 2), ("k", 3), ("m", -3), ("M", 6), ("G", 9), ("T", 12),
        ("n", -9), ("p", -12), ("f", -15),
    ]
}
