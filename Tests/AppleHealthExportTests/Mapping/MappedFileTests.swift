import HealthModel
import Testing

@testable import AppleHealthExport

/// What maps make of rows.
@Suite struct MappedFileTests {
    private static let header = "time,kg\n"

    @Test("A decimal comma with semicolons, and tabs, are read")
    func separators() throws {
        let comma = try MappedText.weights(#""separator": "semicolon", "decimalComma": true"#)
        let read = try MappedText(comma, "time;kg\n2024-05-31T08:00:00Z;72,45\n")
        #expect(read.records.map(\.value) == [72.45] && read.records[0].unit == .kilogram)
        let tab = try MappedText.weights(#""separator": "tab""#)
        #expect(try MappedText(tab, "time\tkg\n2024-05-31T08:00:00Z\t72.45\n").records.map(\.value) == [72.45])
        let quoted = try MappedText.weights(#""decimalComma": true"#)
        #expect(try MappedText(quoted, "time,kg\n2024-05-31T08:00:00Z,\"72,45\"\n").records.map(\.value) == [72.45])
    }

    @Test("Two readings of one minute are two groups, and the same two when the file is read again")
    func readingsOfOneMinute() throws {
        let map = try MappedText.map(
            #"""
            {"zone": "UTC", "start": {"column": "time", "format": "iso8601"}, "source": "Cuff", "group": true,
             "samples": [{"type": "bloodPressureSystolic", "value": {"column": "high"}, "unit": "mmHg"},
                         {"type": "bloodPressureDiastolic", "value": {"column": "low"}, "unit": "mmHg"}]}
            """#)
        let text = "time,high,low\n2024-05-31T08:00:00Z,120,80\n2024-05-31T08:00:00Z,130,85\n"
        let read = try MappedText(map, text)
        let groups = read.records.map(\.group)
        #expect(groups[0] == groups[1] && groups[2] == groups[3] && groups[0] != groups[2])
        #expect(try MappedText(map, text).records.map(\.group) == groups)
        // One reading alone is in the group that it always had.
        let first = try MappedText(map, text.split(separator: "\n").prefix(2).joined(separator: "\n") + "\n")
        #expect(first.records.map(\.group) == Array(groups.prefix(2)))
    }

    @Test("A duration beyond all times is refused, and makes no sample without an end")
    func endlessDuration() throws {
        let map = try MappedText.weights(#""end": {"duration": {"column": "seconds", "unit": "s"}}"#)
        let read = try MappedText(map, "time,kg,seconds\n2250-01-01T00:00:00Z,72,4000000000\n")
        #expect(read.records.isEmpty && read.quarantined.count == 1, "\(read.items)")
    }

    @Test("The example of docs/IMPORT-MAPS.md gives the samples that it says")
    func example() throws {
        let map = try MappedText.map(
            #"""
            {
              "description": "My scale",
              "separator": "semicolon",
              "decimalComma": true,
              "zone": "Europe/Berlin",
              "start": {"column": "Datum", "format": "dd.MM.yyyy HH:mm"},
              "source": "My scale",
              "metadata": {"note": {"column": "Notiz"}},
              "samples": [
                {"type": "bodyMass", "value": {"column": "Gewicht"}, "unit": "kg"},
                {"type": "bodyFatPercentage", "value": {"column": "Fett", "percent": true}, "unit": "%"}
              ]
            }
            """#)
        let read = try MappedText(
            map,
            """
            Datum;Gewicht;Fett;Notiz
            31.05.2024 07:58;72,4;18,2;
            01.06.2024 08:03;72,1;;nach dem Sport
            """)
        #expect(read.records.map(\.type) == [.bodyMass, .bodyFatPercentage, .bodyMass])
        #expect(read.records.map(\.value) == [72.4, 0.182, 72.1] && read.items.count == 3)
        #expect(
            read.records[0].start == at("2024-05-31T05:58:00Z") && read.records[0].source == Source(name: "My scale"))
        #expect(read.records[2].metadata == ["note": .string("nach dem Sport")])
    }

    @Test("Lines before the header are skipped, and a file without a header has the columns of the map")
    func headers() throws {
        let skipping = try MappedText.weights(#""skipLines": 2"#)
        #expect(try MappedText(skipping, "a,b,c\n\"\ntime,kg\n2024-05-31T08:00:00Z,1\n").records.count == 1)
        let bare = try MappedText.weights(#""header": false, "columns": ["kg", "time"]"#)
        let read = try MappedText(bare, "\u{FEFF}72,2024-05-31T08:00:00Z")
        #expect(read.records.map(\.value) == [72] && read.records[0].start == at("2024-05-31T08:00:00Z"))
    }

    @Test("The first of several names of a column is taken that the file has")
    func alternatives() throws {
        let map = try MappedText.map(
            #"""
            {"start": {"column": ["when", "time"]}, "source": "Scale",
             "samples": [{"type": "bodyMass", "value": {"column": "kg"}, "unit": "kg", "optional": true},
                         {"type": "bodyMass", "value": {"column": "lb"}, "unit": "lb", "optional": true}]}
            """#)
        let read = try MappedText(map, "time,lb\n2024-05-31T08:00:00Z,160\n")
        #expect(read.records.map(\.unit) == [.pound])
        let error = #expect(throws: ImportMapError.self) { _ = try MappedText(map, "time,st\n") }
        #expect(error?.keyPath == "samples")
    }

    @Test("A sample without a value is left out, and a row without any is skipped; other rows are quarantined")
    func missingAndMalformed() throws {
        let map = try MappedText.map(
            #"""
            {"start": {"column": "time"}, "source": "Cuff", "missing": ["-", "n/a"],
             "samples": [
               {"type": "bloodPressureSystolic", "value": {"column": "sys"}, "unit": "mmHg"},
               {"type": "heartRate", "value": {"column": "pulse"}, "unit": "count/min"}]}
            """#)
        let read = try MappedText(
            map,
            """
            time,sys,pulse
            2024-05-31T08:00:00Z,120,
            2024-05-31T08:01:00Z,-,64
            2024-05-31T08:02:00Z, n/a ,

            2024-05-31T08:03:00Z,120,many
            ,120,64
            2024-05-31T08:04:00Z,120
            2024-05-31T08:05:00Z,120,64,
            2024-05-31T08:06:00Z,120,64,x
            """)
        #expect(read.records.map(\.type) == [.bloodPressureSystolic, .heartRate, .bloodPressureSystolic, .heartRate])
        #expect(read.skipped == 1)
        #expect(
            read.quarantined.map(\.reason) == [
                #"column "pulse": is not a number"#, #"column "time": is empty"#, "the row has 2 fields instead of 3",
                "the row has 4 fields instead of 3",
            ])
        #expect(read.quarantined.map(\.line) == [6, 7, 8, 10])
        #expect(read.quarantined[1].bytes == Array(",120,64\n".utf8))
    }

    @Test("A quarantined row has its offset and its bytes as they are in the file, also with doubled quotes")
    func quarantine() throws {
        let map = try MappedText.weights()
        let text = "\u{FEFF}time,kg,note\r\n\"x\",1,\"a \"\"b\"\"\nc\"\r\n2024-05-31T08:00:00Z,2,\r\ny,3,\n"
        let read = try MappedText(map, text)
        #expect(read.records.map(\.value) == [2])
        let first = try #require(read.quarantined.first)
        #expect(first.bytes == Array("\"x\",1,\"a \"\"b\"\"\nc\"\r\n".utf8))
        #expect(first.offset == 17 && first.line == 2)
        #expect(read.quarantined.map(\.line) == [2, 5])
        for part in read.quarantined {
            #expect(Array(Array(text.utf8)[part.offset..<part.offset + part.bytes.count]) == part.bytes)
        }
    }

    @Test("A NUL byte, bytes that are not UTF-8 and a row that is too long cost their row alone")
    func damage() throws {
        let map = try MappedText.weights()
        let good = Array("2024-05-31T08:00:00Z,70\n".utf8)
        let long = Array(repeating: UInt8(0x37), count: 1 << 20)
        let bytes =
            Array(Self.header.utf8) + good + [0x30, 0, 0x2C, 0x31, 0x0A] + good + [0x30, 0xC3, 0x28, 0x2C, 0x31, 0x0A]
            + good + long + [0x0A] + good
        let read = try MappedText(map, bytes: bytes)
        #expect(read.records.count == 4)
        #expect(read.quarantined.map(\.line) == [3, 5, 7])
        #expect(read.quarantined[0].reason.contains("NUL") && read.quarantined[1].reason.contains("UTF-8"))
        #expect(read.quarantined[2].reason.contains("longer") && read.quarantined[2].bytes.count == 1 << 20)
    }

    @Test("No reason contains a value of the file")
    func reasons() throws {
        let map = try MappedText.map(
            #"""
            {"start": {"column": "a"}, "end": {"column": "b"}, "zone": {"column": "c", "unit": "seconds"},
             "source": {"column": "d"}, "id": {"column": "e"}, "version": {"column": "f"},
             "userEntered": {"column": "g"}, "created": {"column": "h"}, "metadataJSON": {"column": "i"},
             "metadata": {"k": {"column": "j", "kind": "number"}},
             "samples": [{"type": {"column": "k"}, "value": {"column": "l"}, "unit": {"column": "m"}}]}
            """#)
        let good = [
            "2024-05-31T08:00:00Z", "2024-05-31T09:00:00Z", "3600", "Scale", "6F1B0000-0000-0000-0000-000000000001",
            "2",
            "true", "2024-05-31T08:00:00Z", "{}", "1", "bodyMass", "70", "kg",
        ]
        let header = "a,b,c,d,e,f,g,h,i,j,k,l,m\n"
        #expect(try MappedText(map, header + good.joined(separator: ",")).records.count == 1)
        for column in good.indices where column != 3 {
            var row = good
            row[column] = column == 10 ? "BodyMass 77.77" : "77.77.7"
            let read = try MappedText(map, header + row.joined(separator: ","))
            // Any text but a misspelled one is a type of the future, and then it has the unit that the row gives.
            if column == 10 {
                #expect(read.records.count + read.quarantined.count == 1)
            } else {
                #expect(read.quarantined.count == 1, "\(column)")
            }
            for part in read.quarantined { #expect(!part.reason.contains("77"), "\(part.reason)") }
        }
    }

    @Test("Types, units, values, sources and devices come from columns with tables")
    func tables() throws {
        let map = try MappedText.map(
            #"""
            {"start": {"column": "time"},
             "source": {"name": {"column": "app", "table": {"hm": "Health Mate"}, "otherwise": "Import"},
                        "bundle": {"column": "bundle", "optional": true}, "version": "7"},
             "device": {"name": {"column": "device"}, "manufacturer": "Acme"},
             "userEntered": {"column": "how", "table": {"typed": true, "measured": false}},
             "samples": [
               {"type": {"column": "type", "table": {"w": "bodyMass", "h": "height", "s": "sleepAnalysis"}},
                "value": {"column": "value"}, "unit": {"column": "unit", "table": {"kilos": "kg"}}}]}
            """#)
        let read = try MappedText(
            map,
            """
            time,app,device,how,type,value,unit
            2024-05-31T08:00:00Z,hm,Body+,typed,w,70,kilos
            2024-05-31T08:00:00Z,,,measured,h,180,cm
            2024-05-31T08:00:00Z,Own,,,s,asleepREM,
            2024-05-31T08:00:00Z,Own,,,s,HKCategoryValueSleepAnalysisAwake,
            2024-05-31T08:00:00Z,Own,,,x,1,kg
            2024-05-31T08:00:00Z,Own,,,w,1,cm
            2024-05-31T08:00:00Z,Own,,,w,1,
            2024-05-31T08:00:00Z,Own,,guessed,w,1,kg
            2024-05-31T08:00:00Z,Own,,,s,1.5,
            """)
        #expect(read.records.map(\.type) == [.bodyMass, .height, .sleepAnalysis, .sleepAnalysis])
        #expect(read.records.map(\.value) == [70, 180, 5, 2])
        #expect(read.records.map(\.source.name) == ["Health Mate", "Import", "Own", "Own"])
        #expect(read.records[0].source.version == "7" && read.records[0].source.bundle.isEmpty)
        #expect(read.records[0].device == Device(name: "Body+", manufacturer: "Acme"))
        #expect(read.records.map(\.isUserEntered) == [true, false, false, false])
        #expect(read.quarantined.map(\.line) == [6, 7, 8, 9, 10])
    }

    @Test("Constants give value, unit and case; a table gives the cases of a category")
    func constants() throws {
        let map = try MappedText.map(
            #"""
            {"start": {"column": "time"}, "source": "Pump",
             "samples": [
               {"type": "headache", "value": "mild"}, {"type": "inhalerUsage", "value": 2, "unit": "count"},
               {"type": "menstrualFlow", "value": {"column": "flow", "table": {"++": "medium", "0": 5}}}]}
            """#)
        let read = try MappedText(
            map, "time,flow\n2024-05-31T08:00:00Z,++\n2024-05-31T09:00:00Z,0\n2024-05-31T10:00:00Z,1\n")
        #expect(read.records.map(\.value) == [2, 2, 3, 2, 2, 5])
        #expect(read.quarantined.map(\.reason) == [#"column "flow": is not in the table"#])
    }

    @Test("An end is a time or a duration, and the start where the row has none; it does not lie before the start")
    func ends() throws {
        let start = at("2024-05-31T08:00:00Z")
        let time = try MappedText.weights(#""end": {"column": "end"}"#)
        let read = try MappedText(
            time,
            """
            time,kg,end
            2024-05-31T08:00:00Z,1,2024-05-31T08:00:01.5Z
            2024-05-31T08:00:00Z,1,
            2024-05-31T08:00:00Z,1,4001-01-01T00:00:00Z
            2024-05-31T08:00:00Z,1,2024-05-31T07:59:59Z
            """)
        #expect(read.records.map(\.end) == [start + 1_500_000_000, start, .distantFuture])
        #expect(read.quarantined.map(\.reason) == ["the end lies before the start"])
        let duration = try MappedText.weights(#""end": {"duration": {"column": "lasted", "unit": "min"}}"#)
        let lasted = try MappedText(
            duration, "time,kg,lasted\n2024-05-31T08:00:00Z,1,1.5\n2024-05-31T08:00:00Z,1,\n2024-05-31T08:00:00Z,1,-1\n"
        )
        #expect(lasted.records.map(\.end) == [start + 90_000_000_000, start] && lasted.quarantined.count == 1)
        let fixed = try MappedText.weights(#""end": {"duration": {"seconds": 60}}"#)
        #expect(try MappedText(fixed, "time,kg\n2024-05-31T08:00:00Z,1\n").records[0].end == start + 60_000_000_000)
    }

    @Test("Identities are a UUID with or without hyphens, a sync identifier, a version and the time of the change")
    func identities() throws {
        let map = try MappedText.weights(
            #"""
            "id": {"column": "uuid"}, "syncIdentifier": {"column": "key"}, "version": {"column": "version"},
            "created": {"column": "changed", "format": "epochMilliseconds"}
            """#)
        let read = try MappedText(
            map,
            """
            time,kg,uuid,key,version,changed
            2024-05-31T08:00:00Z,1,6F1B0000-0000-0000-0000-000000000001,a-1,3,1717142400000
            2024-05-31T08:00:00Z,1,6f1b0000000000000000000000000001,,,
            2024-05-31T08:00:00Z,1,,,-1,
            2024-05-31T08:00:00Z,1,00000000-0000-0000-0000-000000000000,,,
            2024-05-31T08:00:00Z,1,6F1B,,,
            2024-05-31T08:00:00Z,1,,,9223372036854775807,
            2024-05-31T08:00:00Z,1,,,4611686018427387904,
            """)
        let id = SampleID("6F1B0000-0000-0000-0000-000000000001")
        #expect(read.records.map(\.id) == [id, id, nil])
        #expect(read.records.map(\.syncIdentifier) == ["a-1", nil, nil] && read.records.map(\.version) == [3, 0, 0])
        #expect(read.records[0].created == at("2024-05-31T08:00:00Z") && read.records[1].created == nil)
        #expect(read.quarantined.map(\.line) == [5, 6, 7, 8])
    }

    @Test("Metadata has texts, numbers, quantities, dates and flags, and a column of JSON")
    func metadata() throws {
        let map = try MappedText.weights(
            #"""
            "metadata": {"note": {"column": "n"}, "score": {"column": "s", "kind": "number"},
                         "fat": {"column": "f", "kind": "quantity", "unit": "kg"},
                         "checked": {"column": "c", "kind": "date", "format": "yyyy-MM-dd HH:mm"},
                         "fasting": {"column": "b", "kind": "flag"}, "gone": {"column": "x", "optional": true}},
            "metadataJSON": {"column": "json"}
            """#)
        let read = try MappedText(
            map,
            """
            time,kg,n,s,f,c,b,json
            2024-05-31T08:00:00Z,1, before ü ,7,12.5,2024-05-30 20:00,yes,"{""a"":1,""b"":{""value"":2,""unit"":""m""}}"
            2024-05-31T08:00:00Z,1,,,,,,
            2024-05-31T08:00:00Z,1,,,,,,[1]
            2024-05-31T08:00:00Z,1,,,,,perhaps,
            """)
        #expect(
            read.records.first?.metadata == [
                "note": .string(" before ü "), "score": .number(7), "fat": .quantity(Quantity(12.5, .kilogram)),
                "checked": .date(at("2024-05-30T20:00:00Z")), "fasting": .bool(true), "a": .number(1),
                "b": .quantity(Quantity(2, .meter)),
            ])
        #expect(read.records.count == 2 && read.records.last?.metadata.isEmpty == true)
        #expect(read.quarantined.map(\.line) == [4, 5])
    }

    @Test("Rows and samples are left out by what a column has")
    func skipping() throws {
        let map = try MappedText.map(
            #"""
            {"start": {"column": "time"}, "source": "Watch",
             "skip": [{"column": "kind", "differsFrom": ["a", "b"]}, {"column": "off", "equals": ["1"]},
                      {"column": "device", "isEmpty": true}, {"column": "absent", "isEmpty": true, "optional": true}],
             "samples": [{"type": "heartRate", "value": {"column": "bpm"}, "unit": "count/min",
                          "skip": [{"column": "bpm", "equals": ["0"]}]},
                         {"type": "stepCount", "value": {"column": "steps"}, "unit": "count"}]}
            """#)
        let read = try MappedText(
            map,
            """
            time,kind,off,device,bpm,steps
            2024-05-31T08:00:00Z,a,0,x,60,1
            2024-05-31T08:00:00Z,b,,x,0,2
            2024-05-31T08:00:00Z,c,,x,60,3
            2024-05-31T08:00:00Z,,,x,60,4
            2024-05-31T08:00:00Z,a,1,x,60,5
            malformed,a,0,,60,6
            """)
        #expect(read.records.map(\.value) == [60, 1, 2] && read.skipped == 4 && read.quarantined.isEmpty)
    }

    @Test("The samples of a row are a group whose name comes back with every import, in whatever unit")
    func groups() throws {
        func map(_ unit: String) throws -> ImportMap {
            try MappedText.map(
                #"""
                {"start": {"column": "time"}, "source": "Cuff", "group": true,
                 "samples": [
                   {"type": "bloodPressureSystolic", "value": {"column": "sys"}, "unit": "\#(unit)"},
                   {"type": "bloodPressureDiastolic", "value": {"column": "dia"}, "unit": "\#(unit)"},
                   {"type": "heartRate", "value": {"column": "pulse"}, "unit": "count/min", "group": false}]}
                """#)
        }
        let text =
            "time,sys,dia,pulse\n2024-05-31T08:00:00Z,120,80,64\n2024-05-31T09:00:00Z,120,,64\n2024-05-31T10:00:00Z,1,2,3\n"
        let read = try MappedText(map("mmHg"), text)
        let names = read.records.map(\.group)
        #expect(names[0] != nil && names[0] == names[1] && names[2] == nil)
        #expect(names[3] == nil && names[4] == nil)
        #expect(names[5] != nil && names[5] != names[0])
        #expect(try MappedText(map("cmAq"), text).records.map(\.group) == names)
        let named = try MappedText.weights(#""group": {"column": "meal"}"#)
        let meals = try MappedText(named, "time,kg,meal\n2024-05-31T08:00:00Z,1,m1\n2024-05-31T08:00:00Z,2,\n")
        #expect(meals.records.map(\.group) == ["m1", nil])
    }

    @Test("Lists of values and durations become one sample after another")
    func lists() throws {
        let map = try MappedText.map(
            #"""
            {"start": {"column": "start"}, "end": {"duration": {"column": "duration", "unit": "s"}}, "source": "Watch",
             "samples": [{"type": "heartRate", "value": {"column": "value"}, "unit": "count/min", "list": true}]}
            """#)
        let read = try MappedText(
            map,
            """
            start,duration,value
            2024-05-31T08:00:00+02:00,"[60, 30]","[62,64]"
            2024-05-31T09:00:00+02:00,[],[]
            2024-05-31T09:00:00+02:00,[60],"[62,64]"
            2024-05-31T09:00:00+02:00,60,62
            2024-05-31T09:00:00+02:00,"[60,60]","[62,x]"
            """)
        let start = at("2024-05-31T06:00:00Z")
        #expect(read.records.map(\.value) == [62, 64])
        #expect(read.records.map(\.start) == [start, start + 60_000_000_000])
        #expect(read.records.map(\.end) == [start + 60_000_000_000, start + 90_000_000_000])
        #expect(read.skipped == 1 && read.quarantined.map(\.line) == [4, 5, 6])
    }

    @Test("What is yielded does not depend on how the file is cut into pieces")
    func pieces() throws {
        let map = try MappedText.weights(#""metadata": {"note": {"column": "note"}}"#)
        let text =
            "time,kg,note\r\n2024-05-31T08:00:00Z,70,\"a\nb\"\r\nx,1,\"c\"\"d\"\r\n2024-05-31T08:00:00Z,7\",\n\"e\"f,1,2\r\n"
        let whole = try MappedText(map, text).items
        #expect(whole.count == 4)
        for length in 1...text.utf8.count { #expect(try MappedText(map, text, pieces: length).items == whole) }
    }

    @Test("An error of the caller ends the call, and the next call goes on with the next row")
    func callerErrors() throws {
        struct Stop: Error {}
        var file = try MappedFile(map: MappedText.weights())
        var values: [Double] = []
        #expect(throws: Stop.self) {
            try file.take(
                Array("time,kg\n2024-05-31T08:00:00Z,1\n2024-05-31T08:00:00Z,2\n2024".utf8)[...], isLast: false
            ) {
                if case .record(let record) = $0 { values.append(record.value) }
                throw Stop()
            }
        }
        try file.take(Array("-05-31T08:00:00Z,3".utf8)[...], isLast: true) {
            if case .record(let record) = $0 { values.append(record.value) }
        }
        #expect(values == [1, 2, 3])
    }

    @Test("Times and values outside what a sample may have are quarantined")
    func bounds() throws {
        let map = try MappedText.weights()
        let read = try MappedText(
            map,
            "time,kg\n1500-01-01T00:00:00Z,1\n2300-01-01T00:00:00Z,1\n2024-01-01T00:00:00Z,1e400\n2024-01-01T00:00:00Z,1e308\n"
        )
        #expect(read.records.count == 1 && read.quarantined.map(\.line) == [2, 3, 4])
        for day in ["864000000000000000", "-864000000000000000"] {
            let far = try MappedText.weights(format: "localDayMilliseconds", zone: "Europe/Berlin")
            #expect(try MappedText(far, "time,kg\n\(day),1\n").quarantined.count == 1)
        }
        let epoch = try MappedText.weights(format: "epochSeconds")
        #expect(try MappedText(epoch, "time,kg\n999999999999999999,1\n-999999999999999999,1\n").quarantined.count == 2)
    }
}
