import Foundation
import TestSupport
import Testing

@testable import HealthModel

@Suite("The text of filters")
struct SampleFilterTests {
    @Test("A filter reads back what it prints", arguments: [UInt64.random(in: 0 ... .max)]) func roundTrip(seed: UInt64)
        throws
    {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<2_000 {
            let filter = SampleFilter.random(using: &random)
            let read = try SampleFilter(parsing: filter.description)
            #expect(read.description == filter.description, "seed \(seed)")
            // Chains of one part are printed as that part, so equality needs the text of the text.
            #expect(try SampleFilter(parsing: read.description) == read)
            let coded = try JSONDecoder().decode([SampleFilter].self, from: JSONEncoder().encode([filter]))
            #expect(coded == [read])
        }
    }

    @Test("A filter is written as a person writes it") func forms() throws {
        let cases: [(String, SampleFilter)] = [
            ("value>=80kg", .value(.greaterOrEqual, 80, .kilogram)),
            ("value < 1.5e2 lb", .value(.less, 150, .pound)),
            ("value != 3 count", .not(.value(.equal, 3, .count))),
            ("source = \"A \\\"big\\\" scale\"", .source(named: "A \"big\" scale")),
            ("bundle = \"com.example\" and not user-entered", .source(bundle: "com.example") && !.isUserEntered),
            ("imported or device = \"Watch\" and all", .any([.isImported, .all([.device("Watch"), .all([])])])),
            (
                "(imported or none) and duration > 1.5 hr",
                (.isImported || .any([])) && .duration(.greater, seconds: 5_400)
            ),
            ("metadata \"k\"", .hasMetadata("k")), ("metadata \"k\" = true", .metadata("k", .bool(true))),
            ("metadata \"k\" = -2", .metadata("k", .number(-2))),
            ("metadata \"k\" != \"v\"", .not(.metadata("k", .string("v")))),
            ("metadata \"k\" = 2 kg or imported", .metadata("k", .quantity(Quantity(2, .kilogram))) || .isImported),
            ("metadata \"k\" = 2024-05-31T08:00:00Z", .metadata("k", .date(Instant("2024-05-31T08:00:00Z")!))),
            (
                "value > 5 mmol<180.1558800000541>/L",
                .value(.greater, 5, try HealthUnit(symbol: "mmol<180.1558800000541>/L"))
            ),
            ("group = \"lunch\"", .group("lunch")), ("not not imported", .not(.not(.isImported))),
        ]
        for (text, filter) in cases { #expect(try SampleFilter(parsing: text) == filter, "\(text)") }
        #expect(
            (SampleFilter.value(.greaterOrEqual, 80, .kilogram) && (.source(named: "S") || !.isUserEntered)).description
                == "value >= 80.0 kg and (source = \"S\" or not user-entered)")
        #expect(
            (!SampleFilter.isImported && .isUserEntered && .group("g")).description
                == "not imported and user-entered and group = \"g\"")
    }

    @Test("A text that is no filter is refused where it goes wrong, and repeats nothing of it") func refusals() {
        let cases: [(String, Int)] = [
            ("", 1), ("value", 6), ("value >", 8), ("value > x kg", 9), ("value > 7", 10), ("value > inf kg", 9),
            ("source", 7), ("source = Scale", 10), ("source = \"Scale", 16), ("colour = \"red\"", 1), ("(imported", 10),
            ("imported)", 9), ("imported and", 13), ("imported imported", 10), ("duration > 3 kg", 13),
            ("metadata k", 10), ("metadata \"k\" = ", 16), ("ü = 1", 1), ("source = \"ü\" ü", 14),
        ]
        for (text, position) in cases {
            do {
                let filter = try SampleFilter(parsing: text)
                Issue.record("\(text) is \(filter)")
            } catch .malformedFilter(let found, let expected) {
                #expect(found == position, "\(text)")
                #expect(!expected.isEmpty)
            } catch {
                Issue.record("\(text): \(error)")
            }
        }
        #expect(throws: ModelError.unknownUnit("stones")) { try SampleFilter(parsing: "value > 7 stones") }
        #expect(SampleFilter.value(in: 80...(.infinity), .kilogram) == .all([.value(.greaterOrEqual, 80, .kilogram)]))
        let endless = [SampleFilter.value(.less, .infinity, .kilogram)]
        #expect(throws: ModelError.self) { try JSONEncoder().encode(endless) }
        let deep = String(repeating: "(", count: 100_000) + "all"
        #expect(throws: ModelError.self) { try SampleFilter(parsing: deep) }
        let negated = String(repeating: "not ", count: 100_000) + "all"
        #expect(throws: ModelError.self) { try SampleFilter(parsing: negated) }
        let flat = Array(repeating: "imported", count: 10_000).joined(separator: " or ")
        #expect(throws: Never.self) { try SampleFilter(parsing: flat) }
    }
}

extension SampleFilter {
    /// Returns a filter of any kind.
    static func random(using random: inout SeededGenerator, depth: Int = 3) -> SampleFilter {
        let comparison = random.pick(Comparison.allCases)
        let text = random.pick(["", "a", "A \"b\" \\ c", "and", "é\u{301}", "(", "\n"])
        switch random.number(0..<(depth > 0 ? 14 : 11)) {
        case 0: return .source(named: text)
        case 1: return .source(bundle: "com." + text)
        case 2: return .device(text)
        case 3:
            let unit = random.pick([HealthUnit.kilogram, .percent, try! HealthUnit(symbol: "mL/(kg*min)"), .count])
            return .value(comparison, random.pick([0, -0.0, 1e-300, 72.4, -3e17]), unit)
        case 4: return .duration(comparison, seconds: Double(random.number(0..<90_000)) / 7)
        case 5: return .hasMetadata(text)
        case 6: return .metadata(text, .string(random.pick(["", "x", "true"])))
        case 7:
            return .metadata(
                text,
                random.pick([
                    .number(3), .bool(false), .quantity(Quantity(1.5, .pound)), .date(Instant(nanoseconds: 12_345_678)),
                    .quantity(Quantity(2, try! HealthUnit(symbol: "mL/(kg*min)"))),
                ]))
        case 8: return .group(text)
        case 9: return .isUserEntered
        case 10: return .isImported
        case 11: return .not(.random(using: &random, depth: depth - 1))
        case 12: return .all((0..<random.number(0..<4)).map { _ in .random(using: &random, depth: depth - 1) })
        default: return .any((0..<random.number(0..<4)).map { _ in .random(using: &random, depth: depth - 1) })
        }
    }
}
