import HealthModel

/// Units as UCUM writes them, the code system of units in FHIR.
enum UnitCode {
    static let system = "http://unitsofmeasure.org"

    /// Units whose names differ, and those that no prefix may be cut from.
    private static let names: [String: String] = [
        "hr": "h", "min": "min", "d": "d", "oz": "[oz_av]", "lb": "[lb_av]", "st": "[stone_av]", "in": "[in_i]",
        "ft": "[ft_i]", "yd": "[yd_i]", "mi": "[mi_i]", "fl_oz_us": "[foz_us]", "fl_oz_imp": "[foz_br]",
        "pt_us": "[pt_us]", "pt_imp": "[pt_br]", "cup_us": "[cup_us]", "mmHg": "mm[Hg]", "cmAq": "cm[H2O]",
        "inHg": "[in_i'Hg]", "atm": "atm", "cal": "cal", "kcal": "kcal", "degC": "Cel", "degF": "[degF]",
        "count": "{count}", "%": "%", "IU": "[iU]", "deg": "deg", "dBASPL": "dB[SPL]", "dBHL": "dB{HL}",
        "D": "[diop]", "pD": "[p'diop]", "appleEffortScore": "{score}",
    ]
    private static let prefixed = ["s", "g", "m", "L", "Pa", "J", "W", "K", "V", "S", "Hz", "rad", "lx", "mol"]
    private static let prefixes = ["da", "mc", "d", "c", "h", "k", "m", "M", "G", "T", "n", "p", "f"]

    /// Returns the code of a unit; `nil` if UCUM has none.
    static func code(of unit: HealthUnit) -> String? {
        let parts = unit.symbol.split(separator: "/", omittingEmptySubsequences: false)
        guard let above = product(parts[0]) else { return nil }
        guard parts.count > 1 else { return above }
        guard parts.count == 2, let below = product(parts[1]) else { return nil }
        return (parts[0] == "1" ? "" : above) + "/" + (below.contains(".") ? "(\(below))" : below)
    }

    private static func product(_ text: Substring) -> String? {
        if text == "1" { return "1" }
        var factors: [String] = []
        for factor in text.split(separator: "·") {
            let parts = factor.split(separator: "^")
            guard let name = atom(String(parts[0])) else { return nil }
            factors.append(name + (parts.count > 1 ? parts[1] : ""))
        }
        return factors.joined(separator: ".")
    }

    private static func atom(_ symbol: String) -> String? {
        if let name = names[symbol] { return name }
        // The molar mass of a mole belongs to the substance, not to the unit.
        let bare = symbol.firstIndex(of: "<").map { String(symbol[..<$0]) } ?? symbol
        if prefixed.contains(bare) { return bare }
        for prefix in prefixes where bare.hasPrefix(prefix) && prefixed.contains(String(bare.dropFirst(prefix.count))) {
            return (prefix == "mc" ? "u" : prefix) + bare.dropFirst(prefix.count)
        }
        return nil
    }
}
