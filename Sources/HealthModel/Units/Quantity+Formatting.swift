extension HealthUnit {
    /// How many decimals values of this unit usually show: 72.4 kg, 8,312 count, 1.25 L, 36.6 degC.
    public var displayDigits: Int {
        switch symbol {
        case "km", "mi", "L", "m", "m/s", "L/min", "mi/hr", "km/hr": 2
        case "kg", "lb", "st", "oz", "g", "%", "degC", "degF", "K", "cm", "in", "ft", "hr", "mL/min·kg", "kcal/hr·kg": 1
        default: symbol.hasPrefix("mmol<") ? 1 : 0
        }
    }
}

extension Quantity {
    /// The quantity as text, rounded to decimals: as many as the unit usually shows, unless told.
    ///
    /// The number is rounded from its exact value, halves to the even digit, and written with a point and without groups: the
    /// same everywhere. A percentage, which is kept as a share of one, shows as hundredths.
    ///
    /// ```swift
    /// assert(Quantity(72.449, .kilogram).formatted() == "72.4 kg")
    /// assert(Quantity(0.234, .percent).formatted() == "23.4 %")
    /// assert(Quantity(8_312, .count).formatted() == "8312 count")
    /// ```
    public func formatted(digits: Int? = nil) -> String {
        number(digits: min(max(digits ?? unit.displayDigits, 0), 30)) + " " + unit.symbol
    }

    private func number(digits: Int) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-∞" : "∞" }
        let shift = unit == .percent ? 2 : 0
        let scaled = ExactNumber(value) * ExactNumber(.power(of: 10, digits + shift))
        var text = scaled.roundedMagnitude.decimal
        let isZero = text == "0"
        if digits > 0 {
            text = String(repeating: "0", count: max(0, digits + 1 - text.utf8.count)) + text
            text.insert(".", at: text.index(text.endIndex, offsetBy: -digits))
        }
        return (scaled.isNegative && !isZero ? "-" : "") + text
    }
}

extension Quantity: CustomStringConvertible {
    /// Value and unit as they are, such as `72.44 kg`.
    public var description: String { "\(value) \(unit)" }
}
