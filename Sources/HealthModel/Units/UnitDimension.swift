extension HealthUnit {
    /// The dimension of a unit: powers of independent base dimensions. Conversion is possible only within one
    /// dimension.
    ///
    /// ```swift
    /// assert(HealthUnit.kilocalorie.dimension == .energy)
    /// let pulse = try HealthUnit(symbol: "count/min")
    /// assert(pulse.dimension != .count)
    /// ```
    ///
    /// Counts, angles, sound levels and every other quantity that HealthKit measures in its own unit are independent
    /// too: steps do not convert to percent. A hertz counts events per second, so a pulse converts to hertz.
    public struct Dimension: Hashable, Sendable {
        /// The powers, in the order of ``Base``.
        var powers: SIMD16<Int8>

        init(_ powers: SIMD16<Int8>) { self.powers = powers }

        /// The base dimensions of all others.
        enum Base: Int, CaseIterable {
            case mass, length, time, temperature, current, count, angle, pharmacology, soundLevel, hearingLevel
            case illuminance, prism, effort
        }

        init(_ powers: [Base: Int8]) {
            self.powers = SIMD16()
            for (base, power) in powers { self.powers[base.rawValue] = power }
        }

        /// Mass, such as kilograms.
        public static let mass = Dimension([.mass: 1])
        /// Length, such as meters.
        public static let length = Dimension([.length: 1])
        /// Time, such as minutes.
        public static let time = Dimension([.time: 1])
        /// Temperature, such as degrees Celsius.
        public static let temperature = Dimension([.temperature: 1])
        /// A number of things.
        public static let count = Dimension([.count: 1])
        /// Energy, such as kilocalories.
        public static let energy = Dimension([.mass: 1, .length: 2, .time: -2])
        /// Energy per time, such as watts.
        public static let power = Dimension([.mass: 1, .length: 2, .time: -3])
        /// Pressure, such as millimeters of mercury.
        public static let pressure = Dimension([.mass: 1, .length: -1, .time: -2])
        /// Volume, such as liters.
        public static let volume = Dimension([.length: 3])
        /// No dimension: a fraction of a whole.
        public static let ratio = Dimension([:])
    }
}

extension HealthUnit.Dimension: CustomStringConvertible, Codable {
    /// The powers by name, such as `mass·length^2/time^2`; `ratio` if there are none.
    public var description: String {
        func product(_ sign: Int8) -> [String] {
            Base.allCases.compactMap { base in
                let power = powers[base.rawValue] * sign
                return power > 0 ? power == 1 ? "\(base)" : "\(base)^\(power)" : nil
            }
        }
        let (above, below) = (product(1), product(-1))
        if above.isEmpty && below.isEmpty { return "ratio" }
        let top = above.isEmpty ? "1" : above.joined(separator: "·")
        return below.isEmpty ? top : top + "/" + below.joined(separator: "·")
    }

    public init(from decoder: any Decoder) throws {
        let powers = try decoder.singleValueContainer().decode([String: Int8].self)
        self.init([:])
        for (name, power) in powers {
            guard let base = Base.allCases.first(where: { "\($0)" == name }) else {
                throw ModelError.unknownUnit(name)
            }
            // Refuse the one power that has no negation.
            guard power > .min else { throw ModelError.numberOutOfRange(field: name) }
            self.powers[base.rawValue] = power
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        let named = Base.allCases.filter { powers[$0.rawValue] != 0 }.map { ("\($0)", powers[$0.rawValue]) }
        try container.encode(Dictionary(uniqueKeysWithValues: named))
    }
}
