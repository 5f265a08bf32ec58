import HealthModel
import Testing

@testable import AppleHealthExport

/// Each shipped map with a few made-up rows in the form of its files.
@Suite struct ShippedMapTests {
    private static func read(_ name: String, zone: String? = nil, _ text: String) throws -> MappedText {
        var map = try #require(ImportMap.shipped(name), "\(name)")
        if let zone { try map.setZone(zone) }
        return try MappedText(map, text)
    }

    @Test("The names of shipped maps are in order, and no other name has a map")
    func names() {
        #expect(ImportMap.shippedNames == ImportMap.shippedNames.sorted() && ImportMap.shippedNames.count == 20)
        #expect(ImportMap.shipped("withings") == nil)
    }

    @Test("Weights of Withings have the masses beside them as metadata, in kilograms or pounds")
    func withingsWeight() throws {
        let read = try Self.read(
            "withings-weight", zone: "Europe/Paris",
            """
            Date,"Weight (kg)","Fat mass (kg)","Bone mass (kg)","Muscle mass (kg)","Hydration (kg)",Comments
            "2024-04-25 08:11:51",80.90,16.02,3.22,61.65,43.93,
            "2024-04-24 08:00:00",81.00,,,,,"after, sport"
            """)
        #expect(read.records.map(\.value) == [80.9, 81] && read.quarantined.isEmpty)
        #expect(read.records[0].start == at("2024-04-25T06:11:51Z") && read.records[0].timeZone == "Europe/Paris")
        #expect(read.records[0].metadata["fatMass"] == .quantity(Quantity(16.02, .kilogram)))
        #expect(read.records[1].metadata == ["comment": .string("after, sport")])
        let pounds = try Self.read(
            "withings-weight", zone: "UTC",
            """
            Date,"Weight (lb)","Fat mass (lb)","Bone mass (lb)","Muscle mass (lb)","Hydration (lb)",Comments
            "2024-04-25 08:11:51",178,39.6,7.2,116.4,84.3,
            """)
        #expect(pounds.records.map(\.unit) == [.pound])
    }

    @Test("Heights, blood pressure, nights and daily steps of Withings are read")
    func withingsOthers() throws {
        let height = try Self.read(
            "withings-height", zone: "UTC", "Date,\"Height (m)\",Comments\n\"2020-05-27 13:11:12\",1.80,\n")
        #expect(height.records.map(\.value) == [1.8] && height.records[0].unit == .meter)
        let pressure = try Self.read(
            "withings-blood-pressure", zone: "UTC",
            "Date,\"Heart rate\",Systolic,Diastolic,Comments\n\"2024-01-12 08:15:00\",64,130,85,\n")
        #expect(pressure.records.map(\.type) == [.bloodPressureSystolic, .bloodPressureDiastolic, .heartRate])
        #expect(pressure.records[0].group != nil && pressure.records[0].group == pressure.records[1].group)
        #expect(pressure.records[2].group == nil)
        let sleep = try Self.read(
            "withings-sleep",
            """
            from,to,"light (s)","deep (s)","rem (s)","awake (s)","wake up","Duration to sleep (s)"
            2024-03-01T23:14:00+01:00,2024-03-02T07:00:00+01:00,12600,4200,4800,2400,2,600
            """)
        #expect(sleep.records[0].categoryName == "inBed" && sleep.records[0].end == at("2024-03-02T06:00:00Z"))
        #expect(sleep.records[0].metadata["deepSleep"] == .quantity(Quantity(4_200, .second)))
        let steps = try Self.read("withings-steps-daily", zone: "Europe/Berlin", "date,value\n2024-03-31,8342\n")
        #expect(
            steps.records[0].start == at("2024-03-30T23:00:00Z") && steps.records[0].end == at("2024-03-31T22:00:00Z"))
    }

    @Test("Lists of the trackers of Withings are read")
    func withingsLists() throws {
        let rate = try Self.read(
            "withings-heart-rate", "start,duration,value\n2024-06-07T09:22:00+02:00,\"[60,60]\",\"[61,63]\"\n")
        #expect(rate.records.map(\.value) == [61, 63] && rate.records[1].start == at("2024-06-07T07:23:00Z"))
        let steps = try Self.read("withings-steps", "start,duration,value\n2024-06-07T09:22:00+02:00,[60],[12]\n")
        #expect(steps.records.map(\.type) == [.stepCount])
        let stages = try Self.read(
            "withings-sleep-stages", "start,duration,value\n2024-06-07T01:00:00+02:00,\"[600,300]\",\"[1,2]\"\n")
        #expect(stages.records.map(\.categoryName) == ["asleepCore", "asleepDeep"])
    }

    @Test("Weights of Samsung Health have a preamble, times in UTC and an offset, with or without a prefix")
    func samsungWeight() throws {
        let read = try Self.read(
            "samsung-weight",
            """
            \u{FEFF}com.samsung.health.weight,6313004,3
            body_fat_mass,start_time,weight,update_time,time_offset,deviceuuid,pkg_name,body_fat,datauuid
            3.7,2024-07-02 22:18:53.642,50.0,2024-07-02 22:18:53.671,UTC-0500,Cv7sH/e0hQ,com.sec.android.app.shealth,7.46,38ed29d7-a815-43e7-9d3c-891e1cbb6e57,
            """)
        #expect(read.records.map(\.type) == [.bodyMass, .bodyFatPercentage] && read.quarantined.isEmpty)
        let weight = read.records[0]
        #expect(weight.value == 50 && weight.start == at("2024-07-02T22:18:53.642Z") && weight.timeZone == "GMT-0500")
        #expect(weight.id == SampleID("38ED29D7-A815-43E7-9D3C-891E1CBB6E57") && read.records[1].id == nil)
        #expect(weight.source == Source(bundle: "com.sec.android.app.shealth", name: "Samsung Health"))
        #expect(weight.device?.localIdentifier == "Cv7sH/e0hQ" && weight.created == at("2024-07-02T22:18:53.671Z"))
        #expect(read.records[1].value == 0.0746 && read.records[1].syncIdentifier != nil)
        let prefixed = try Self.read(
            "samsung-weight",
            """
            com.samsung.health.weight,6313004,3
            com.samsung.health.weight.start_time,com.samsung.health.weight.weight,com.samsung.health.weight.time_offset
            2024-07-02 05:10:00.000,79.4,UTC+0200
            """)
        #expect(prefixed.records.map(\.value) == [79.4] && prefixed.records[0].source.name == "Samsung Health")
    }

    @Test("Heart rates, blood pressure and heights of Samsung Health are read, and zeros are no measurements")
    func samsungVitals() throws {
        let rate = try Self.read(
            "samsung-heart-rate",
            """
            com.samsung.shealth.tracker.heart_rate,6313004,3
            tag_id,com.samsung.health.heart_rate.start_time,com.samsung.health.heart_rate.time_offset,com.samsung.health.heart_rate.end_time,com.samsung.health.heart_rate.datauuid,com.samsung.health.heart_rate.heart_rate
            21312,2022-06-22 17:00:29.328,UTC+0530,2022-06-22 17:00:59.328,23a7f2ba-379e-7643-6f8f-0312a7a8174d,71.0,
            21312,2022-06-22 17:10:29.328,UTC+0530,2022-06-22 17:10:29.328,23a7f2ba-379e-7643-6f8f-0312a7a8174e,0.0,
            """)
        #expect(rate.records.map(\.value) == [71] && rate.skipped == 1 && rate.records[0].timeZone == "GMT+0530")
        #expect(rate.records[0].end == at("2022-06-22T17:00:59.328Z"))
        let prefix = "com.samsung.health.blood_pressure."
        let pressure = try Self.read(
            "samsung-blood-pressure",
            """
            com.samsung.shealth.blood_pressure,1,1
            \(prefix)datauuid,\(prefix)start_time,\(prefix)time_offset,\(prefix)systolic,\(prefix)diastolic,\(prefix)pulse
            38ed29d7-a815-43e7-9d3c-891e1cbb6e57,2024-06-01 08:00:00.000,UTC+0200,120.0,80.0,65
            38ed29d7-a815-43e7-9d3c-891e1cbb6e58,2024-06-02 08:00:00.000,UTC+0200,0.0,0.0,
            """)
        #expect(pressure.records.map(\.value) == [120, 80, 65] && pressure.skipped == 1)
        #expect(pressure.records[0].group == pressure.records[1].group && pressure.records[0].group != nil)
        #expect(
            pressure.records.allSatisfy { $0.syncIdentifier == "38ed29d7-a815-43e7-9d3c-891e1cbb6e57" && $0.id == nil })
        let height = try Self.read(
            "samsung-height",
            "com.samsung.health.height,1,1\nstart_time,height,time_offset\n2020-06-22 19:49:18.967,171.0,UTC-0500\n")
        #expect(height.records.map(\.value) == [171])
    }

    @Test("Steps and sleep of Samsung Health are read; of daily steps only those of all devices together")
    func samsungActivity() throws {
        let prefix = "com.samsung.health.step_count."
        let steps = try Self.read(
            "samsung-steps",
            """
            com.samsung.shealth.tracker.pedometer_step_count,7006003,6
            duration,run_step,\(prefix)start_time,\(prefix)count,\(prefix)distance,\(prefix)time_offset,\(prefix)end_time,\(prefix)datauuid
            60000,0,2024-05-03 07:32:00.000,10,6.86,UTC-0500,2024-05-03 07:33:00.000,162ef3a1-077b-4ce0-9ddf-12214e743040,
            """)
        #expect(
            steps.records.map(\.type) == [.stepCount, .distanceWalkingRunning]
                && steps.records.map(\.value) == [10, 6.86])
        let daily = try Self.read(
            "samsung-steps-daily", zone: "Europe/Warsaw",
            """
            com.samsung.shealth.step_daily_trend,7006003,6
            source_type,count,pkg_name,datauuid,day_time
            0,522,com.sec.android.app.shealth,d14ba94f-4fb4-49c0-a7d6-f4341b96d9ac,1559692800000
            -2,3344,com.sec.android.app.shealth,6e2696de-ed57-41a1-9c5b-ab183fb992c5,1559692800000
            -2,100,com.sec.android.app.shealth,6e2696de-ed57-41a1-9c5b-ab183fb992c6,2019-06-06 00:00:00.000
            """)
        #expect(daily.records.map(\.value) == [3_344, 100] && daily.skipped == 1)
        #expect(
            daily.records[0].start == at("2019-06-04T22:00:00Z") && daily.records[0].end == at("2019-06-05T22:00:00Z"))
        #expect(daily.records[1].start == daily.records[0].end)
        let sleep = "com.samsung.health.sleep."
        let night = try Self.read(
            "samsung-sleep",
            """
            com.samsung.shealth.sleep,7006011,11
            sleep_score,\(sleep)start_time,\(sleep)end_time,\(sleep)time_offset,\(sleep)datauuid
            79,2024-09-04 02:53:00.000,2024-09-04 08:44:00.000,UTC-0400,0a065d78-b919-4c0e-a74e-8fc8a9249957,
            """)
        #expect(night.records.map(\.categoryName) == ["inBed"] && night.records[0].end == at("2024-09-04T08:44:00Z"))
        let stages = try Self.read(
            "samsung-sleep-stages",
            """
            com.samsung.health.sleep_stage,7006003,6
            start_time,sleep_id,stage,time_offset,end_time,datauuid
            2022-07-15 03:55:00.000,8a70,40002,UTC-0500,2022-07-15 04:16:00.000,d56a957f-aa99-46f7-807c-27d64ba6ca9b
            2022-07-15 04:16:00.000,8a70,40009,UTC-0500,2022-07-15 04:32:00.000,1143c802-950e-437c-a406-914878c3814a
            """)
        #expect(stages.records.map(\.categoryName) == ["asleepCore"] && stages.quarantined.count == 1)
    }

    @Test("Records of Health Connect have their UUID, client record id and version, and an offset each")
    func healthConnect() throws {
        let steps = try Self.read(
            "health-connect-steps",
            """
            uuid,client_record_id,client_record_version,last_modified_time,start_time,end_time,zone_offset,count,recording_method,package_name,app_name,manufacturer,model
            6F1B0000000000000000000000000001,c-1,4,1717142400000,1717142400000,1717142460000,7200,75,2,com.example.watch,Watch,Acme,W1
            6F1B0000000000000000000000000002,,0,1717142400000,1717142460000,1717142520000,-18000,12,3,com.example.watch,,,
            """)
        let first = try #require(steps.records.first)
        #expect(first.id == SampleID("6F1B0000-0000-0000-0000-000000000001"))
        #expect(first.syncIdentifier == "c-1" && first.version == 4 && first.timeZone == "GMT+0200")
        #expect(first.source == Source(bundle: "com.example.watch", name: "Watch") && first.device?.model == "W1")
        #expect(first.start == at("2024-05-31T08:00:00Z") && first.end == at("2024-05-31T08:01:00Z"))
        #expect(
            steps.records.map(\.isUserEntered) == [false, true] && steps.records[1].source.name == "com.example.watch")
        #expect(steps.records[1].device == nil && steps.records[1].timeZone == "GMT-0500")
        let weight = try Self.read(
            "health-connect-weight",
            "uuid,time,zone_offset,weight,package_name\n6F1B0000000000000000000000000001,1717142400000,7200,98700.0,a\n"
        )
        #expect(weight.records.map(\.value) == [98_700] && weight.records[0].unit == .gram)
        let rate = try Self.read(
            "health-connect-heart-rate",
            """
            sync_identifier,client_record_version,epoch_millis,zone_offset,beats_per_minute,package_name
            6F1B-1717142400000,1,1717142400000,7200,61,a
            6F1B-1717142405000,1,1717142405000,7200,62,a
            """)
        #expect(rate.records.map(\.value) == [61, 62] && rate.records[1].syncIdentifier == "6F1B-1717142405000")
    }

    @Test("The export of HealthKV is read with every field")
    func healthKV() throws {
        let read = try Self.read(
            "healthkv",
            """
            id,type,start,end,value,unit,source,bundle,device,user_entered,sync_identifier,version,group,metadata
            6F1B0000-0000-0000-0000-000000000001,HKQuantityTypeIdentifierBodyMass,2024-05-31T08:00:00Z,2024-05-31T08:00:00Z,160.4,lb,W8Trackr,com.example.w8,Scale,true,w-1,2,g,"{""note"":""a, b""}"
            6F1B0000-0000-0000-0000-000000000002,HKCategoryTypeIdentifierSleepAnalysis,2024-05-31T08:00:00Z,4001-01-01T00:00:00Z,5,count,Watch,,"{""name"":""W"",""model"":""M""}",false,,,,
            ,org.example.mood,2024-05-31T08:00:00Z,,3,count,Own,,,,,,,
            """)
        #expect(read.quarantined.isEmpty && read.records.count == 3)
        let first = read.records[0]
        #expect(first.type == .bodyMass && first.unit == .pound && first.isUserEntered && first.version == 2)
        #expect(
            first.source == Source(bundle: "com.example.w8", name: "W8Trackr") && first.device == Device(name: "Scale"))
        #expect(first.metadata == ["note": .string("a, b")] && first.group == "g" && first.syncIdentifier == "w-1")
        #expect(read.records[1].end == .distantFuture && read.records[1].device == Device(name: "W", model: "M"))
        #expect(read.records[2].type.identifier == "org.example.mood" && read.records[2].end == read.records[2].start)
    }
}

extension ImportedRecord {
    /// The name of a category's case.
    fileprivate var categoryName: String? { type.categoryCase(Int(value))?.name }
}
