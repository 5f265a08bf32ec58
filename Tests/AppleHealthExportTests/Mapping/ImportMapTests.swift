import Foundation
import HealthModel
import Testing

@testable import AppleHealthExport

/// Reading maps.
@Suite struct ImportMapTests {
    private static let sample = #"{"type": "bodyMass", "value": {"column": "kg"}, "unit": "kg"}"#

    private static func error(_ json: String) -> ImportMapError? {
        do throws(ImportMapError) {
            _ = try MappedText.map(json)
            return nil
        } catch {
            return error
        }
    }

    @Test(
        "An error names the place in the map",
        arguments: [
            (#"{"source": "x", "samples": []}"#, "samples"),
            (#"{"source": "x"}"#, "samples"),
            (#"{"start": {"column": "t"}, "samples": [SAMPLE]}"#, "samples[0].source"),
            (#"{"source": "x", "samples": [SAMPLE]}"#, "samples[0].start"),
            (#"{"source": "x", "start": {"column": "t"}, "samples": [{"value": {"column": "v"}}]}"#, "samples[0].type"),
            (#"{"source": "x", "start": {"column": "t"}, "samples": [{"type": "bodyMass"}]}"#, "samples[0].value"),
            (
                #"{"source": "x", "start": {"column": "t"}, "samples": [{"type": "bodyMass", "value": 1}]}"#,
                "samples[0].unit"
            ),
            (
                #"{"source": "x", "start": {"column": "t"}, "samples": [SAMPLE, {"type": "bodymass", "value": 1, "unit": "kg"}]}"#,
                "samples[1].type"
            ),
            (
                #"{"source": "x", "start": {"column": "t"}, "samples": [{"type": "bodyMass", "value": 1, "unit": "m"}]}"#,
                "samples[0].unit"
            ),
            (
                #"{"source": "x", "start": {"column": "t"}, "samples": [{"type": "bodyMass", "value": 1, "unit": "kilo"}]}"#,
                "samples[0].unit"
            ),
            (#"{"source": "x", "start": {"column": "t", "format": "yy"}, "samples": [SAMPLE]}"#, "start.format"),
            (#"{"source": "x", "start": {"column": "t", "form": "yy"}, "samples": [SAMPLE]}"#, "start.form"),
            (#"{"source": "x", "start": {"column": 3}, "samples": [SAMPLE]}"#, "start.column"),
            (#"{"source": "x", "start": {"column": "t"}, "zone": "Nowhere", "samples": [SAMPLE]}"#, "zone"),
            (
                #"{"source": "x", "start": {"column": "t"}, "zone": {"column": "z", "unit": "hours"}, "samples": [SAMPLE]}"#,
                "zone.unit"
            ),
            (#"{"source": "x", "start": {"column": "t"}, "separator": "|", "samples": [SAMPLE]}"#, "separator"),
            (#"{"source": "x", "start": {"column": "t"}, "encoding": "utf-16", "samples": [SAMPLE]}"#, "encoding"),
            (#"{"source": "x", "start": {"column": "t"}, "skipLines": -1, "samples": [SAMPLE]}"#, "skipLines"),
            (#"{"source": "x", "start": {"column": "t"}, "header": false, "samples": [SAMPLE]}"#, "columns"),
            (
                #"{"source": "x", "start": {"column": "t"}, "header": false, "columns": ["t"], "samples": [SAMPLE]}"#,
                "samples[0].value.column"
            ),
            (#"{"source": "x", "start": {"column": "t"}, "skip": [{"column": "a"}], "samples": [SAMPLE]}"#, "skip[0]"),
            (
                #"{"source": "x", "start": {"column": "t"}, "end": {"duration": {"column": "d", "unit": "kg"}}, "samples": [SAMPLE]}"#,
                "end.duration.unit"
            ),
            (
                #"{"source": "x", "start": {"column": "t"}, "end": {"duration": "day"}, "samples": [SAMPLE]}"#,
                "end.duration"
            ),
            (#"{"source": "x", "start": {"column": "t"}, "id": {"column": "i"}, "samples": [SAMPLE, SAMPLE]}"#, "id"),
            (
                #"{"source": "x", "start": {"column": "t"}, "syncIdentifier": {"column": "i"}, "samples": [SAMPLE, SAMPLE]}"#,
                "samples[1].syncIdentifier"
            ),
            (
                #"{"source": "x", "start": {"column": "t"}, "metadata": {"k": {"column": "c", "kind": "quantity"}}, "samples": [SAMPLE]}"#,
                "metadata.k"
            ),
            (
                #"{"source": "x", "start": {"column": "t"}, "samples": [{"type": "sleepAnalysis", "value": {"column": "s", "table": {"1": "rem"}}}]}"#,
                "samples[0].value.table.1"
            ),
            (
                #"{"source": "x", "start": {"column": "t"}, "samples": [{"type": "bodyMass", "value": {"column": "v"}, "unit": "kg", "list": true}]}"#,
                "samples[0].list"
            ),
            (#"{"source": {"version": "1"}, "start": {"column": "t"}, "samples": [SAMPLE]}"#, "source"),
            (#"{"source": "", "start": {"column": "t"}, "samples": [SAMPLE]}"#, "source"),
            (#"{"source": "x", "start": {"column": []}, "samples": [SAMPLE]}"#, "start.column"),
            (#"{"source": "x", "#, ""), ("", ""), ("[]", ""), ("null", ""),
        ])
    func places(_ json: String, _ place: String) {
        let error = Self.error(json.replacingOccurrences(of: "SAMPLE", with: Self.sample))
        #expect(error?.keyPath == place, "\(String(describing: error))")
        #expect(error?.problem.isEmpty == false)
    }

    @Test("A field that is not known is refused with the known ones, so that a misspelled field is seen")
    func strangers() throws {
        let error = try #require(Self.error(#"{"seperator": "tab", "samples": []}"#))
        #expect(error.keyPath == "seperator" && error.problem.contains("separator"))
        #expect(error.description.hasPrefix("seperator: is not a field here"))
    }

    @Test(
        "A column that the file does not have is an error before anything is yielded, with the columns that there are")
    func columns() throws {
        let map = try MappedText.weights()
        var file = try MappedFile(map: map)
        var count = 0
        let error = #expect(throws: ImportMapError.self) {
            try file.take(Array("time,lb\n2024-05-31T08:00:00Z,1\n".utf8)[...], isLast: true) { _ in count += 1 }
        }
        #expect(count == 0)
        #expect(
            error?.description == #"samples[0].value.column: the file has no column "kg". Its columns are "time", "lb""#
        )
        let twice = #expect(throws: ImportMapError.self) { _ = try MappedText(map, "time,kg,kg\n") }
        #expect(twice?.problem == #"the file has several columns "kg""#)
        let many = (0..<100).map { "c\($0)" }.joined(separator: ",")
        let long = #expect(throws: ImportMapError.self) { _ = try MappedText(map, many + "\n") }
        #expect(long?.problem.hasSuffix("and 40 more") == true)
    }

    @Test(
        "A file that ends before its header, or has a header that is not text, is refused",
        arguments: [
            [], Array("\n\n".utf8), Array("time,\"kg".utf8), [0x74, 0, 0x2C], [0xFF, 0x2C],
        ])
    func headers(_ bytes: [UInt8]) throws {
        let map = try MappedText.weights()
        let error = #expect(throws: ImportMapError.self) { _ = try MappedText(map, bytes: bytes) }
        #expect(error?.keyPath == "header")
    }

    @Test("Every shipped map is written and read back as it is")
    func coding() throws {
        for name in ImportMap.shippedNames {
            let map = try #require(ImportMap.shipped(name), "\(name)")
            let again = try JSONDecoder().decode(ImportMap.self, from: JSONEncoder().encode(map))
            #expect(again == map, "\(name)")
            #expect(map.summary?.isEmpty == false)
        }
    }
}
