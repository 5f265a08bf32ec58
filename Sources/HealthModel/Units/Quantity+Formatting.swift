extension HealthUnit {
    /// The usual number of decimals for values of this unit: 72.4 kg, 8,312 count, 1.25 L, 36.6 degC, 2.4 mcg.
    public var displayDigits: Int {
        switch symbol {
        case "cup_us", "cup_imp": 2
        case "mg", "mcg", "IU", "mcS", "fl_oz_us", "fl_oz_imp", "pt_us", "pt_imp": 1
        case "km", "mi", "L", "m", "m/s", "L/min", "mi/hr", "km/hr": 2
        case "kg", "lb", "st", "oz", "g", "%", "degC", "degF", "K", "cm", "in", "ft", "hr", "mL/min·kg", "kcal/hr·kg": 1
        default: symbol.hasPrefix("mmol<") ? 1 : 0
        }
    }

    /// Whether values keep trailing zeros. Doses and cups drop them, because they are mostly whole: 250 mg, 2.4 mcg,
    /// 1.5 cup_us.
    fileprivate var showsEndingZeros: Bool {
        switch symbol {
        case "mg", "mcg", "IU", "mcS", "fl_oz_us", "fl_oz_imp", "pt_us", "pt_imp", "cup_us", "cup_imp": false
        default: true
        }
    }
}

extension Quantity {
    /// Returns the quantity as text, rounded to `digits` decimals or to the unit's usual number.
    ///
    /// The number is rounded from its exact value, with ties to even, and written with a point and without grouping:
    /// the result is the same everywhere. A percentage is stored as a fraction of one and shown in hundredths. Without
    /// `digits`, a whole dose or cup has no decimals.
    ///
    /// ```swift
    /// assert(Quantity(72.449, .kilogram).formatted() == "72.4 kg")
    /// assert(Quantity(0.234, .percent).formatted() == "23.4 %")
    /// assert(Quantity(8_312, .count).formatted() == "8312 count")
    /// assert(Quantity(2.4, .microgram).formatted() == "2.4 mcg" && Quantity(250, .milligram).formatted() == "250 mg")
    /// ```
    public func formatted(digits: Int? = nil) -> String {
        var text = number(digits: min(max(digits ?? unit.displayDigits, 0), 30))
        if digits == nil, !unit.showsEndingZeros, text.contains(".") {
            while text.hasSuffix("0") { text.removeLast() }
            if text.hasSuffix(".") { text.removeLast() }
        }
        return text + " " + unit.symbol
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
    /// Value and unit without rounding, such as `72.44 kg`.
    public var description: String { "\(value) \(unit)" }
}
