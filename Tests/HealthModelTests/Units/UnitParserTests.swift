import Testing
import TestSupport

@testable import HealthModel

/// Parses units in the notation of HealthKit (SEMANTICS A23).
@Suite struct UnitParserTests {
    @Test("Thousands of strings parse to units with the expected canonical form and size, or are refused")
    func table() throws {
        let rows = try Fixture.rows("symbols.txt")
        #expect(rows.count > 5_000)
        for row in rows {
            let unit = try? HealthUnit(symbol: row[0])
            #expect(unit?.symbol ?? "-" == row[1], "\(row[0])")
            guard let unit, row[1] != "-" else { continue }
            #expect(unit.definition.factor.rounded == Fixture.double(row[2]), "\(row[0])")
            #expect(try HealthUnit(symbol: unit.symbol) == unit)
        }
    }

    @Test("A product binds more tightly than a division, and the order of its factors does not matter")
    func precedence() throws {
        let oxygen = HealthUnit.milliliterPerMinuteKilogram
        #expect(oxygen.symbol == "mL/min·kg")
        for text in ["mL/min·kg", "ml/(kg*min)", "mL/kg/min", "mL·min^-1·kg^-1", "1/(min·kg/mL)", "mL/(min.kg)"] {
            #expect(try HealthUnit(symbol: text) == oxygen, "\(text)")
        }
        #expect(try HealthUnit(symbol: "kcal/(kg*hr)") == .kilocaloriePerHourKilogram)
        #expect(try HealthUnit(symbol: "mmol<180.15588000>/L").symbol == "mmol<180.15588>/L")
        #expect(try HealthUnit(symbol: "count/s").symbol == "count/s")
    }

    @Test("A unit with a fixed number on disk is the same in every notation")
    func fixedNumbers() throws {
        for (text, unit) in [
            ("g·kg/g", HealthUnit.kilogram), ("(m)", .meter), ("count^1", .count), ("Cal", .kilocalorie),
        ] {
            let parsed = try HealthUnit(symbol: text)
            #expect(parsed == unit && parsed.number == unit.number)
            #expect(Set([parsed, unit]).count == 1)
        }
        #expect(try HealthUnit(symbol: "degC").number == 0)
    }

    @Test("No text traps: parts of units in any order, truncated, doubled and nested")
    func fuzz() {
        let seed = UInt64.random(in: 0 ... .max)
        print("seed \(seed)")
        var random = SeededGenerator(seed: seed)
        let pieces =
            UnitAtom.all.map(\.symbol) + UnitAtom.prefixes.map(\.symbol)
            + [
                "(", ")", "/", "·", "*", ".", "^", "-", "1", "2", "24", "99", "mol<", ">", "5", "0", "<", " ", "é",
                "\u{387}",
            ]
        var valid = 0
        for _ in 0..<20_000 {
            let text = (0..<random.number(0..<12)).map { _ in random.pick(pieces) }.joined()
            guard let unit = try? HealthUnit(symbol: text) else { continue }
            valid += 1
            #expect((try? HealthUnit(symbol: unit.symbol)) == unit, "\(text), seed \(seed)")
            _ = try? unit.convert(
                random.pick([1, -7.5, 1e300, .leastNonzeroMagnitude]), to: HealthUnit(symbol: "kg·m^2/s^2"))
        }
        #expect(valid > 100, "seed \(seed)")
    }

    @Test("The canonical form of every accepted unit parses to the same unit, however long it is")
    func long() {
        let seed = UInt64.random(in: 0 ... .max)
        print("seed \(seed)")
        var random = SeededGenerator(seed: seed)
        let prefixed = UnitAtom.all.filter(\.takesPrefix).flatMap { atom in
            UnitAtom.prefixes.map { $0.symbol + atom.symbol }
        }
        var valid = 0
        for _ in 0..<300 {
            let factors = (0..<random.number(30..<80)).map { _ in random.pick(prefixed) }
            guard let unit = try? HealthUnit(symbol: factors.joined(separator: random.pick([".", "*", "·"]))) else {
                continue
            }
            valid += 1
            #expect((try? HealthUnit(symbol: unit.symbol)) == unit, "\(unit.symbol), seed \(seed)")
        }
        #expect(valid > 10, "seed \(seed)")
    }

    @Test("Texts that are too long, too deeply nested or of too great a power are refused")
    func limits() {
        // Short enough as written, too long with the dots of the canonical form.
        let names = UnitAtom.prefixes.flatMap { prefix in ["m", "g", "s", "K", "L", "V"].map { prefix.symbol + $0 } }
        let longInDots = names.prefix(66).joined(separator: ".")
        #expect(longInDots.utf8.count <= UnitParser.lengthLimit)
        let texts = [
            String(repeating: "(", count: 200),
            String(repeating: "(", count: 20) + "m" + String(repeating: ")", count: 20),
            String(repeating: "m·", count: 127) + "m", longInDots, "m^25", "(m^5)^5", "m^99", "m^-25",
            String(repeating: "g·", count: 200) + "g", "V^24·V^24·W^24·kV^24",
        ]
        for text in texts { #expect(throws: ModelError.unknownUnit(text)) { try HealthUnit(symbol: text) } }
        #expect(throws: Never.self) { try HealthUnit(symbol: "m^24") }
    }
}
