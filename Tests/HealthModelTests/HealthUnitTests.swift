import Testing

@testable import HealthModel

/// Units: exact where exactness is possible, strict about letters and dimensions (SEMANTICS A23).
@Suite struct HealthUnitTests {
    @Test("Conversions give the numbers that follow from the definitions")
    func conversions() throws {
        let table: [(Double, HealthUnit, Double, HealthUnit)] = [
            (1, .kilogram, 1_000, .gram), (1, .gram, 1_000, .milligram), (100, .pound, 45.359237, .kilogram),
            (45.359237, .kilogram, 100, .pound), (2_300, .milligram, 2.3, .gram), (1, .kilometer, 1_000, .meter),
            (1, .mile, 1_609.344, .meter), (26.2, .mile, 42.1648128, .kilometer), (1, .kilocalorie, 4.184, .kilojoule),
            (4.184, .kilojoule, 1, .kilocalorie), (1.5, .liter, 1_500, .milliliter), (0.25, .percent, 0.25, .percent),
            (7, .count, 7, .count), (0, .pound, 0, .kilogram),
        ]
        for (value, unit, expected, other) in table {
            #expect(try unit.convert(value, to: other) == expected, "\(value) \(unit) in \(other)")
        }
    }

    @Test("Converting a value to its own unit preserves every bit, NaN and negative zero included")
    func identity() throws {
        for unit in HealthUnit.catalog {
            for value in [-0.0, .nan, Double(nan: 5, signaling: false), .infinity, .leastNonzeroMagnitude, 0.1] {
                #expect(try unit.convert(value, to: unit).bitPattern == value.bitPattern)
            }
        }
    }

    @Test("Converting a value to another unit and back changes it by at most two units in the last place")
    func thereAndBack() throws {
        var generator = SystemRandomNumberGenerator()
        for unit in HealthUnit.catalog {
            for other in HealthUnit.catalog where unit.isCompatible(with: other) {
                for _ in 0..<50 {
                    let value = Double.random(in: 0.01...10_000, using: &generator)
                    let back = try other.convert(unit.convert(value, to: other), to: unit)
                    #expect(abs(back - value) <= 2 * value.ulp, "\(unit) and \(other)")
                }
            }
        }
    }

    @Test("A23, D: Units of different dimensions cannot be converted, and the error names both")
    func incompatible() {
        for unit in HealthUnit.catalog {
            for other in HealthUnit.catalog where unit.dimension != other.dimension {
                #expect(throws: ModelError.incompatibleUnits(from: unit.symbol, to: other.symbol)) {
                    try unit.convert(1, to: other)
                }
            }
        }
    }

    @Test("Symbols are case-sensitive; Cal is kcal, and cal is a thousandth of it")
    func symbols() throws {
        for unit in HealthUnit.catalog { #expect(try HealthUnit(symbol: unit.symbol) == unit) }
        #expect(try HealthUnit(symbol: "Cal") == .kilocalorie)
        #expect(try HealthUnit(symbol: "cal") == .smallCalorie)
        #expect(try HealthUnit.smallCalorie.convert(1_000, to: HealthUnit(symbol: "Cal")) == 1)
        #expect(try HealthUnit(symbol: "ml") == .milliliter)
        for symbol in [
            "CAL", "KG", "Kg", "mKg", "", " kg", "kg ", "%%", "counts", "kcount", "klb", "kcal·", "1", "mol",
        ] {
            #expect(throws: ModelError.unknownUnit(symbol)) { try HealthUnit(symbol: symbol) }
        }
    }

    @Test("The unit numbers on disk have not changed")
    func numbers() {
        let symbols = ["count", "kg", "g", "mg", "lb", "m", "km", "mi", "kcal", "kJ", "mL", "L", "%"]
        #expect(HealthUnit.catalog.map(\.symbol) == symbols)
        #expect(HealthUnit.catalog.map(\.number) == Array(1...13))
        for unit in HealthUnit.catalog { #expect(HealthUnit(number: unit.number) == unit) }
        #expect(HealthUnit(number: 0) == nil)
        #expect(HealthUnit(number: 14) == nil)
        #expect(HealthUnit(number: .max) == nil)
    }

    @Test("Quantities are equal if value and unit are equal, bit for bit")
    func quantities() {
        #expect(Quantity(.nan, .gram) == Quantity(.nan, .gram))
        #expect(Quantity(0, .gram) != Quantity(-0.0, .gram))
        #expect(Quantity(1, .kilogram) != Quantity(1_000, .gram))
        #expect(Set([Quantity(.nan, .gram), Quantity(.nan, .gram)]).count == 1)
    }
}

/// The catalog of types.
@Suite struct SampleTypeTests {
    @Test("The type numbers on disk, the units and the aggregations have not changed")
    func catalog() {
        let names = [
            "bodyMass", "leanBodyMass", "bodyFatPercentage", "stepCount", "distanceWalkingRunning",
            "activeEnergyBurned",
            "basalEnergyBurned", "dietaryEnergyConsumed", "dietaryProtein", "dietaryCarbohydrates", "dietaryFatTotal",
            "dietaryFatSaturated", "dietaryFiber", "dietarySugar", "dietarySodium", "dietaryCholesterol",
            "dietaryWater",
        ]
        let units = [
            "kg", "kg", "%", "count", "m", "kcal", "kcal", "kcal", "g", "g", "g", "g", "g", "g", "g", "g", "mL",
        ]
        let first = SampleType.catalog.prefix(17)
        #expect(first.map(\.shortName) == names)
        #expect(first.map { $0.canonicalUnit?.symbol } == units)
        #expect(first.prefix(3).allSatisfy { $0.aggregation == .discrete && $0.shadowsDuplicates })
        #expect(first.dropFirst(3).allSatisfy { $0.aggregation == .cumulative })
        #expect(SampleType.catalog.dropFirst(3).allSatisfy { !$0.shadowsDuplicates })
        // 122 stays reserved: it was given to an identifier that HealthKit does not have.
        #expect(SampleType.catalog.map(\.catalogNumber) == (1...193).filter { $0 != 122 }.map { UInt32($0) })
        for type in SampleType.catalog { #expect(SampleType(catalogNumber: type.catalogNumber!) == type) }
        #expect(SampleType(catalogNumber: 0) == nil)
        #expect(SampleType(catalogNumber: 194) == nil)
    }

    @Test("Short names stand for HealthKit's identifiers; any other identifier is kept unchanged")
    func names() {
        #expect(SampleType("stepCount") == .stepCount)
        #expect(SampleType("HKQuantityTypeIdentifierStepCount") == .stepCount)
        let other = SampleType("HKQuantityTypeIdentifierFuture")
        #expect(other.identifier == "HKQuantityTypeIdentifierFuture")
        #expect(other.shortName == other.identifier)
        #expect(other.canonicalUnit == nil && other.aggregation == nil && other.catalogNumber == nil)
        #expect(!other.shadowsDuplicates)
        #expect(SampleType("StepCount").identifier == "StepCount")
    }
}
