import HealthModel
import TestSupport
import Testing

@testable import AppleHealthExport

/// Damaged files and maps.
@Suite struct MappedFuzzTests {
    private static let rounds = 20_000

    /// A file for each of several maps.
    private static let files: [(name: String, zone: String?, text: String)] = [
        (
            "healthkv", nil,
            """
            id,type,start,end,value,unit,source,bundle,device,user_entered,sync_identifier,version,group,metadata
            6F1B0000-0000-0000-0000-000000000001,bodyMass,2024-05-31T08:00:00Z,2024-05-31T08:00:00Z,160.4,lb,W8,b,S,true,w-1,2,g,"{""n"":""a, b""}"
            ,sleepAnalysis,2024-05-31T08:00:00.5+02:00,,asleepREM,count,Watch,,"{""name"":""ü""}",no,,,,
            """
        ),
        (
            "withings-weight", "Europe/Berlin",
            """
            Date,"Weight (kg)","Fat mass (kg)","Bone mass (kg)","Muscle mass (kg)","Hydration (kg)",Comments
            "2024-10-27 02:11:51",80.90,16.02,3.22,61.65,43.93,"x ""y""
            z"
            """
        ),
        (
            "samsung-blood-pressure", nil,
            "p,1,1\r\ndatauuid,start_time,time_offset,systolic,diastolic,pulse\r\nu,2024-06-01 08:00:00.000,UTC+0200,120.0,80.0,65,\r\n"
        ),
        (
            "withings-sleep-stages", nil,
            "start,duration,value\n2024-06-07T01:00:00+02:00,\"[600,300]\",\"[1,2]\"\n"
        ),
        (
            "health-connect-steps", nil,
            "uuid,client_record_id,client_record_version,start_time,end_time,zone_offset,count,package_name\n6F1B0000000000000000000000000001,c-1,4,1717142400000,1717142460000,7200,75,a\n"
        ),
    ]

    private static let splinters: [[UInt8]] =
        [
            "\"", "\"\"", ",", "\n", "\r\n", "\r", ";", "0", "-", "e9", "999999999999999999999", "[", "]", "{", "}",
            "NaN",
            "\u{FEFF}", "4001-01-01T00:00:00Z", "GMT+", "99",
        ].map { Array($0.utf8) } + [[0], [0xFF], [0xC3], [0xF0, 0x9F]]

    private static func mutate(_ bytes: [UInt8], _ random: inout SeededGenerator) -> [UInt8] {
        var bytes = bytes
        for _ in 0..<random.number(1..<6) {
            let place = random.number(0..<bytes.count + 1)
            switch random.number(0..<5) {
            case 0: bytes.insert(contentsOf: random.pick(splinters), at: place)
            case 1 where place < bytes.count: bytes[place] = UInt8(truncatingIfNeeded: random.next())
            case 2: bytes.removeSubrange(place..<min(bytes.count, place + random.number(0..<20)))
            case 3: bytes.insert(contentsOf: bytes[place..<min(bytes.count, place + 40)], at: place)
            default: bytes.removeLast(bytes.count - place)
            }
        }
        return bytes
    }

    @Test("Damaged files never end the program, yield the same in every cut, and no row is lost without notice")
    func files() throws {
        var random = SeededGenerator()
        let maps = try Self.files.map { file in
            var map = try #require(ImportMap.shipped(file.name))
            if let zone = file.zone { try map.setZone(zone) }
            return map
        }
        for round in 0..<Self.rounds {
            let number = random.number(0..<maps.count)
            let bytes = Self.mutate(Array(Self.files[number].text.utf8), &random)
            let whole = try? MappedText(maps[number], bytes: bytes)
            guard let whole else { continue }
            for part in whole.quarantined {
                #expect(part.bytes.count <= CSVScanner.rowLimit && part.offset + part.bytes.count <= bytes.count)
                #expect(Array(bytes[part.offset..<part.offset + part.bytes.count]) == part.bytes)
                #expect(part.line == 1 + bytes[..<part.offset].count { $0 == 0x0A })
            }
            for record in whole.records {
                #expect(record.start.isRepresentable && record.start <= record.end && record.value.isFinite)
                #expect(!record.source.name.isEmpty)
            }
            if round % 4 == 0 {
                let cut = try MappedText(maps[number], bytes: bytes, pieces: random.number(1..<40))
                #expect(cut.items == whole.items, "round \(round) of seed \(random.seed)")
            }
        }
    }

    @Test("Damaged maps are refused or read, and never end the program")
    func maps() {
        var random = SeededGenerator()
        let texts = ImportMap.shippedTexts.values.sorted().map { Array($0.utf8) }
        var refused = 0
        for _ in 0..<Self.rounds / 4 {
            do throws(ImportMapError) {
                _ = try ImportMap(json: Self.mutate(random.pick(texts), &random))
            } catch {
                refused += 1
                #expect(!error.problem.isEmpty)
            }
        }
        #expect(refused > 0)
    }

    @Test("Memory stays bounded while rows do not end")
    func endless() throws {
        var file = try MappedFile(map: MappedText.weights())
        var parts = 0
        try file.take(Array("time,kg\n\"".utf8)[...], isLast: false) { _ in }
        let piece = Array(repeating: UInt8(0x78), count: 1 << 16)
        for _ in 0..<200 {
            try file.take(piece[...], isLast: false) { if case .quarantined = $0 { parts += 1 } }
            #expect(file.bufferedBytes <= 2 * CSVScanner.rowLimit)
        }
        #expect(parts == 1)
    }
}
