import Foundation
import HealthKV
import Testing

@testable import kvinspect

@Suite("Reading lines")
struct LineReaderTests {
    private func read(_ line: String) throws -> Sample {
        var reader = LineReader(zone: .utc)
        var batch = SampleBatch()
        let bytes = Array(line.utf8)
        try reader.read(bytes.span, into: &batch)
        #expect(batch.count == 1)
        return batch.sample(at: 0)
    }

    private func reason(_ line: [UInt8]) -> String? {
        var reader = LineReader(zone: .utc)
        var batch = SampleBatch()
        do {
            _ = try reader.read(line.span, into: &batch)
            return nil
        } catch {
            #expect(batch.isEmpty, "a bad line leaves no row behind")
            return error.reason
        }
    }

    @Test("Type, start, value and unit suffice")
    func minimal() throws {
        let sample = try read(#"{"type":"stepCount","start":"2001-01-01","value":12,"unit":"count"}"#)
        #expect(sample.type == .stepCount && sample.start == Instant(nanoseconds: 0) && sample.end == sample.start)
        #expect(sample.quantity == Quantity(12, .count) && sample.source.name == "kvinspect" && sample.id != .zero)
        #expect(sample.origin == .imported && sample.metadata.isEmpty && sample.modified == nil)
    }

    @Test(
        "A head with too many sources is refused, and a batch stops accepting lines before it could overflow")
    func manySources() throws {
        func line(_ sources: Range<Int>) -> [UInt8] {
            let names = sources.map { #""s\#($0)""# }.joined(separator: ",")
            let head = #""dump":{"version":1,"sources":[\#(names)]}"#
            return Array(#"{"type":"stepCount","start":"2001-01-01","value":12,"unit":"count",\#(head)}"#.utf8)
        }
        #expect(reason(line(0..<70_000)) == "dump: more than 16384 sources")
        var reader = LineReader(zone: .utc)
        var batch = SampleBatch()
        var next = 0
        while reader.hasRoom(in: batch) {
            let bytes = line(next..<next + 16_000)
            try reader.read(bytes.span, into: &batch)
            next += 16_000
        }
        #expect(batch.kinds.count <= 65_535)
    }

    @Test("The UUID of all zeros is refused as an id")
    func zero() {
        let line =
            #"{"id":"00000000-0000-0000-0000-000000000000","type":"stepCount","start":"2001-01-01","value":1,"unit":"count"}"#
        #expect(reason(Array(line.utf8))?.hasPrefix("id: The id is the UUID of all zeros") == true)
    }

    @Test("The reason for refusing a workout names the wrong part")
    func workouts() {
        func reason(_ workout: String) -> String {
            let line =
                #"{"type":"workout","start":"2001-01-01","value":1,"unit":"s","workout":\#(workout)}"#
            return self.reason(Array(line.utf8)) ?? ""
        }
        #expect(reason(#"{"activity":"nonsense"}"#).contains("kind of workout is not known"))
        let event = #"{"activity":"running","events":[{"kind":1,"start":"DATE","end":"DATE"}]}"#
        for date in ["soon", "2024-05-31T08:00:00.1234567890Z"] {
            #expect(
                reason(event.replacingOccurrences(of: "DATE", with: date)).contains("The text is no date"), "\(date)")
        }
        #expect(reason(event.replacingOccurrences(of: "DATE", with: "1604-01-01T00:00:00Z")).contains("1710 to 2290"))
    }

    @Test("Every field is read, in any order and with white space")
    func full() throws {
        let sample = try read(
            """
             { "group" : "g", "metadata" : { "n" : 1.5 , "b" : false , "s" : "t" , "d" : { "date" : "2001-01-01T00:00:01Z" } ,
             "q" : { "value" : 2 , "unit" : "lb" } , "x" : { "bits" : "3ff8000000000000" } } , "device" : { "name" : "N",
             "udiDeviceIdentifier" : "U" , "model" : null } , "multiplicity" : 4 , "count" : 3 , "shadowed" : true ,
             "userEntered" : true , "origin" : "authored" , "replica" : 4294967295 , "modified" : "2001-01-01T00:00:02Z" ,
             "syncVersion" : 4611686018427387902 , "syncIdentifier" : "s" , "source" : { "name" : "A" , "bundle" : "b" ,
             "version" : "1" , "product" : "p" , "system" : "y" } , "unit" : "kg" , "value" : -0.0 ,
             "end" : "4001-01-01T00:00:00Z" , "start" : "2001-01-01" , "type" : "HKQuantityTypeIdentifierBodyMass" ,
             "id" : "00000000-0000-4000-8000-00000000000a" }\r
            """)
        #expect(sample.id == SampleID("00000000-0000-4000-8000-00000000000A"))
        #expect(sample.type == .bodyMass && sample.isOpenEnded && sample.quantity == Quantity(-0.0, .kilogram))
        #expect(sample.source == Source(bundle: "b", name: "A", version: "1", product: "p", system: "y"))
        #expect(sample.syncIdentifier == "s" && sample.version == Sample.versionLimit - 1 && sample.origin == .authored)
        #expect(sample.modified == ChangeClock(time: Instant(nanoseconds: 2_000_000_000), replica: .max))
        #expect(sample.isUserEntered && !sample.isShadowed && sample.count == 3 && sample.multiplicity == 4)
        #expect(sample.device == Device(name: "N", udiDeviceIdentifier: "U") && sample.group == "g")
        let metadata: [String: MetadataValue] = [
            "n": .number(1.5), "b": .bool(false), "s": .string("t"), "d": .date(Instant(nanoseconds: 1_000_000_000)),
            "q": .quantity(Quantity(2, .pound)), "x": .number(1.5),
        ]
        #expect(sample.metadata == metadata)
    }

    @Test("The line that the tool writes for a sample reads back as the same sample")
    func roundTrip() throws {
        let sample = try read(Fixture.lines.split(separator: "\n").map(String.init)[3])
        var writer = JSONWriter()
        SampleRecord(sample: sample, detail: .lossless).write(to: &writer)
        let again = try read(String(decoding: writer.bytes, as: UTF8.self))
        #expect(again.id == sample.id && again.modified == sample.modified && again.contentBytes == sample.contentBytes)
    }

    @Test(
        "A bad line is refused with a reason",
        arguments: [
            ("", nil), (" \t", nil), ("{", "a text in quotes"), ("{}", "missing: type, start, value, unit"),
            ("[]", "an object"),
            ("nonsense", "an object"), (#"{"type":"a","start":"2001-01-01","value":1}"#, "missing: unit"),
            (#"{"type":"a","start":"2001-01-01","value":1,"unit":"count"} x"#, "something follows"),
            (#"{"type":"a","type":"b"}"#, "the field type occurs twice"),
            (#"{"typ":"a"}"#, "a field is not known"),
            (#"{"type":1}"#, "type: a text in quotes"), (#"{"value":"1"}"#, "value: a number"),
            (#"{"start":"soon"}"#, "start: an ISO 8601 date"), (#"{"start":"4001-01-01T00:00:00Z"}"#, "start: an ISO"),
            (#"{"unit":"stone"}"#, "unit: a unit as HealthKit writes it was expected"),
            (#"{"id":"x"}"#, "id: The text is no UUID"),
            (#"{"origin":"stolen"}"#, "origin: authored or imported"),
            (#"{"userEntered":1}"#, "userEntered: true or false"),
            (#"{"syncVersion":1.5}"#, "syncVersion: a whole number"), (#"{"source":[]}"#, "source: an object"),
            (#"{"source":{"bundle":"b"}}"#, "source: a source needs a name"),
            (#"{"source":{"name":"b","x":"y"}}"#, "source: a field is not known"),
            (#"{"device":{"name":1}}"#, "device: a text in quotes"), (#"{"metadata":{"a":[1]}}"#, "metadata: a number"),
            (#"{"metadata":{"a":{"date":"x"}}}"#, "metadata: an ISO 8601"),
            (#"{"metadata":{"a":null}}"#, "metadata: a number"),
            (#"{"metadata":{"a":{"value":1}}}"#, "metadata: an object is"),
            (#"{"metadata":{"a":{}}}"#, "metadata: an object is"),
            (#"{"metadata":{"a":1,"a":2}}"#, "metadata: a key occurs twice"),
            (#"{"dump":{"version":2,"sources":[]}}"#, "dump: {\"version\":1"),
        ] as [(String, String?)])
    func bad(_ line: String, _ words: String?) {
        let reason = reason(Array(line.utf8))
        if let words {
            #expect(reason?.contains(words) ?? false, "\(reason ?? "none")")
        } else {
            #expect(reason == nil)
        }
    }

    @Test("A sample that the model refuses is refused before it is added to a batch")
    func model() {
        let head = #"{"type":"stepCount","start":"2001-01-02","value":1,"unit":"count""#
        let cases = [
            (#","end":"2001-01-01"}"#, "start lies after"), (#","syncIdentifier":""}"#, "syncIdentifier"),
            (#","syncVersion":-1}"#, "version"), (#","count":0}"#, "count"), (#","multiplicity":-1}"#, "multiplicity"),
            (#","metadata":{"":1}}"#, "metadata key"), (#","modified":"2001-01-01","replica":-1}"#, "replica"),
            (#","group":"\#(String(repeating: "x", count: 65_536))"}"#, "group"),
            (#","source":"\#(String(repeating: "x", count: 65_536))"}"#, "source name"),
        ]
        for (tail, words) in cases {
            #expect(reason(Array((head + tail).utf8))?.contains(words) ?? false, "\(tail.prefix(40))")
        }
        let wrongUnit = #"{"type":"stepCount","start":"2001-01-02","value":1,"unit":"kg"}"#
        #expect(reason(Array(wrongUnit.utf8))?.contains("cannot be converted") ?? false)
    }

    @Test("Hostile lines are refused with a reason: deep nesting, huge numbers, truncated and broken text")
    func hostile() {
        let deep = String(repeating: "[", count: 1_000_000)
        let deepObjects = String(repeating: #"{"metadata":"#, count: 100_000)
        let digits = String(repeating: "9", count: 100_000)
        for line in [
            deep, deepObjects, #"{"metadata":{"a":\#(deep)"#, #"{"value":\#(digits)}"#, #"{"value":1e\#(digits)}"#,
        ] {
            #expect(reason(Array(line.utf8)) != nil)
        }
        #expect(reason(Array(#"{"type":""#.utf8) + [0xFF, 0xFE] + Array(#""}"#.utf8)) != nil)
    }

    @Test("Any line truncated or changed anywhere is read or refused, and never crashes the reader")
    func mutations() {
        var seed = UInt64.random(in: 0 ... .max)
        print("seed \(seed)")
        let line = Array(Fixture.lines.split(separator: "\n")[3].utf8)
        for length in 0..<line.count { _ = reason(Array(line[..<length])) }
        for _ in 0..<20_000 {
            var changed = line
            for _ in 0..<2 {
                seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                changed[Int(seed >> 33) % changed.count] = UInt8(truncatingIfNeeded: seed >> 20)
            }
            _ = reason(changed)
        }
    }

    @Test("No reason repeats the content of the line")
    func canary() {
        let canaries = ["73.625", "secret-name", "2031-07-08"]
        let lines = [
            #"{"value":73.625x}"#, #"{"value":"73.625"}"#, #"{"start":"2031-07-08T"}"#, #"{"unit":"secret-name"}"#,
            #"{"secret-name":1}"#, #"{"origin":"secret-name"}"#, #"{"id":"secret-name"}"#, #"{"count":73.625}"#,
            #"{"source":{"secret-name":1}}"#, #"{"metadata":{"secret-name":[73.625]}}"#,
        ]
        for line in lines {
            let reason = reason(Array(line.utf8)) ?? ""
            #expect(!reason.isEmpty)
            for canary in canaries { #expect(!reason.contains(canary), "\(reason)") }
        }
    }
}
