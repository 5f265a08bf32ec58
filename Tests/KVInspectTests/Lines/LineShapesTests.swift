import Foundation
import HealthKV
import TestSupport
import Testing

@testable import kvinspect

/// The reader recognizes lines of a known shape without parsing them. The results must not differ.
@Suite("Known shapes of lines")
struct LineShapesTests {
    private enum Outcome: Equatable {
        case nothing
        case sample(Sample)
        case refused(String)
    }

    /// Reads lines one after another, as a load does.
    private struct Reading {
        var reader: LineReader
        var batch = SampleBatch()

        init(learns: Bool) { reader = LineReader(zone: .utc, learns: learns) }

        mutating func outcome(of line: [UInt8], isLast: Bool) -> Outcome {
            let before = batch.count
            let input = isLast ? line : line + [0x0A] + Array("{\"id\":".utf8)
            if let length = reader.readKnown(input.span, into: &batch) {
                if length != line.count || batch.count != before + 1 { Issue.record("a known line leaves one row") }
            } else {
                if batch.count != before { Issue.record("a line that is not known leaves no row") }
                do { try reader.read(line.span, into: &batch) } catch { return .refused(error.reason) }
            }
            if batch.count == before { return .nothing }
            var sample = batch.sample(at: before)
            // A line without an id gets a new one each time.
            if !String(decoding: line, as: UTF8.self).contains("\"id\":\"") { sample.id = .max }
            return .sample(sample)
        }
    }

    @Test("Lines of known shape are read or refused exactly as if they were parsed", arguments: 0..<4)
    func sameOutcome(part: Int) {
        let seed = UInt64.random(in: 0 ... .max)
        var lines = HostileLines(random: SeededGenerator(seed: seed, part: part))
        var (quick, thorough) = (Reading(learns: true), Reading(learns: false))
        var refused = 0
        for number in 0..<1_500 {
            let line = lines.next()
            let isLast = number % 500 == 499
            let (one, other) = (quick.outcome(of: line, isLast: isLast), thorough.outcome(of: line, isLast: isLast))
            let text = String(decoding: line, as: UTF8.self)
            if one != other { Issue.record("seed \(seed), part \(part), line \(number): \(text)") }
            if case .refused = one { refused += 1 }
        }
        // Make sure that the test covered both paths.
        #expect(quick.reader.known > 100 && refused > 100, "seed \(seed), part \(part)")
        #expect(thorough.reader.known == 0)
    }

    @Test("The reader stops learning shapes if they never recur")
    func noShapes() {
        var reading = Reading(learns: true)
        for number in 0..<2_000 {
            let line =
                #"{"id":"11111111-2222-4333-8444-555555555555","type":"stepCount","start":"2024-01-01T00:00:00Z","#
                + #""value":1,"unit":"count","metadata":{"k":\#(number)}}"#
            _ = reading.outcome(of: Array(line.utf8), isLast: false)
        }
        #expect(reading.batch.count == 2_000 && reading.reader.known == 0 && reading.reader.unknown == 2_000)
    }
}

/// Lines of a few shapes with fields of every form, some of them wrong.
private struct HostileLines {
    var random: SeededGenerator

    private static let sources = [
        #""Phone""#, #"{"name":"Watch","bundle":"com.example.w","version":"2"}"#, #"{"name":"é \"x\""}"#,
        #"{"bundle":"b"}"#,
    ]
    private static let tails = [
        "", #","device":{"name":"Scale"}"#, #","metadata":{"k":true,"d":{"date":"2024-01-01T00:00:00+02:00"}}"#,
        #","userEntered":true,"origin":"authored""#, #","count":3,"timeZone":"Asia/Kathmandu""#, #","end":null"#,
        #","id":null"#, #","value":1"#, #","unknown":1"#, #","syncVersion":2"#, #","local":{"note":"x"}"#, " ", "\r",
        "}",
    ]

    mutating func next() -> [UInt8] {
        let start = date
        let end = random.chance(0.7) ? start : date
        var fields = [
            #""id":"\#(id)""#,
            #""type":"\#(pick(["stepCount", "HKQuantityTypeIdentifierBodyMass", "sleepAnalysis"], "x y"))""#,
            #""start":"\#(start)""#, #""end":"\#(end)""#, #""value":\#(number)"#,
        ]
        let isMass = fields[1].contains("Mass")
        fields.append(#""unit":"\#(random.chance(0.97) ? isMass ? "kg" : "count" : "nothing at all")""#)
        if random.chance(0.8) {
            fields.append(#""source":\#(pick(Array(HostileLines.sources.dropLast()), HostileLines.sources[3]))"#)
        }
        if random.chance(0.3) { fields.append(#""syncIdentifier":"\#(text)""#) }
        if random.chance(0.6) { fields.append(#""modified":"\#(date)","replica":\#(replica)"#) }
        if random.chance(0.2) { fields.append(#""group":"\#(text)""#) }
        if random.chance(0.05) { fields.remove(at: random.number(0..<fields.count)) }
        if random.chance(0.05) { fields.shuffle(using: &random) }
        if random.chance(0.02) { fields.append(fields[random.number(0..<fields.count)]) }
        let space = random.chance(0.1) ? " " : ""
        let tail = random.chance(0.7) ? "" : random.pick(HostileLines.tails)
        var line = Array("{\(space)\(fields.joined(separator: ",\(space)"))\(tail)\(space)}".utf8)
        if random.chance(0.05) { line.append(0x0D) }
        if random.chance(0.03) {
            line[random.number(0..<line.count)] = UInt8(random.pick([0x22, 0x5C, 0x00, 0x39, 0xFF, 0x7D, 0x65]))
        }
        if random.chance(0.02) { line.removeLast(random.number(1..<line.count)) }
        return line.filter { $0 != 0x0A }
    }

    private mutating func pick(_ usual: [String], _ wrong: String) -> String {
        random.chance(0.97) ? random.pick(usual) : wrong
    }

    private var id: String {
        mutating get {
            let id = SampleID(using: &random).description
            return random.chance(0.9)
                ? id
                : random.pick([
                    id.lowercased(), String(id.dropLast()), id + "0", id.replacingOccurrences(of: "-", with: "0"),
                    id.replacingOccurrences(of: "4", with: "g"), "00000000-0000-0000-0000-000000000000", "",
                ])
        }
    }

    private var date: String {
        mutating get {
            func two(_ range: Range<Int>) -> String { String(random.number(range) + 100).dropFirst().description }
            let seconds = random.chance(0.05) ? "60" : two(0..<60)
            let day = "20\(two(0..<40))-\(two(1..<13))-\(two(1..<29))T\(two(0..<24)):\(two(0..<60)):\(seconds)"
            if random.chance(0.75) { return day + "Z" }
            return random.pick([
                day + ".5Z", day + ".000000001Z", day + ".9999999999Z", day + ".123456789012Z", day + ".Z", day + "z",
                day + "+02:00", day + " -0530", day, String(day.dropLast(3)), String(day.prefix(10)), day + "Z ",
                "2023-02-29T00:00:00Z", "2024-02-29T23:59:59Z", "4001-01-01T00:00:00Z", "0001-01-01T00:00:00Z",
                "1709-12-31T00:00:00Z", "1710-01-01T00:00:00Z", "2290-01-01T00:00:00Z",
                "2289-12-31T23:59:59.999999999Z",
                "2024-13-01T00:00:00Z", "2024-01-01T24:00:00Z", "2024-1-01T00:00:00Z", "",
            ])
        }
    }

    private var number: String {
        mutating get {
            let value = Double.random(in: 0..<1_000, using: &random)
            if random.chance(0.3) { return "\(random.number(0..<400))" }
            if random.chance(0.5) { return "\((value * 100).rounded() / 100)" }
            if random.chance(0.6) { return "\(value)" }
            return random.pick([
                "-0", "-0.0", "0", "01", "1.", ".5", "1e3", "1E-3", "-2.5e+2", "1e400", "-1e400", "1e-400",
                "12345678901234567890",
                "123456789012345678901234567890", "0.1234567890123456789", "9007199254740993", "9223372036854775808",
                #"{"bits":"7ff8000000000001"}"#, #"{"bits":"x"}"#, "nan", "null", "\"1\"", "2147483648", "-2147483649",
                "1 ", "--1",
            ])
        }
    }

    private var replica: String {
        mutating get {
            random.chance(0.9)
                ? "\(random.next() as UInt64 >> 32)"
                : random.pick(["0", "00", "007", "-1", "4294967296", "1.0", "1e2", "99999999999", "null", "\"1\""])
        }
    }

    private var text: String {
        mutating get {
            random.chance(0.85)
                ? "s-\(random.number(0..<100_000))"
                : random.pick([
                    "", "é", #"\u00e9"#, #"a\"b"#, #"\x"#, "tab\t", "\u{7F}", String(repeating: "x", count: 65_536),
                    "\u{1}",
                ])
        }
    }
}
