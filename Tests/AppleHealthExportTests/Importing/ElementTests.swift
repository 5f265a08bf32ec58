import HealthKV
import Testing

@testable import AppleHealthExport

@Suite("Elements of an export")
struct ElementTests {
    let bench: ImportBench

    init() throws { bench = try ImportBench() }

    @Test("Names, texts and metadata are read as they were written")
    func texts() throws {
        let report = try bench.take([
            Export.record(
                "HKQuantityTypeIdentifierBodyMass", "72.50", "kg", Export.date(1, "08:00:00"),
                source: "Anna&apos;s &lt;Scale&gt; &amp; &quot;Co&quot; &#x1F600;",
                metadata: [
                    ("HKWasUserEntered", "1"), ("HKTimeZone", "Europe/Paris"), ("meal", "a"), ("Meal", "b"),
                    ("HKWeatherTemperature", "68 degF"), ("HKMetadataKeyHeartRateMotionContext", "2"),
                    ("note", "x &amp; y"),
                ])
        ])
        #expect(report.inserted == 1 && report.mended == 0)
        let sample = try #require(try bench.samples(.bodyMass).first)
        #expect(sample.source.name == "Anna's <Scale> & \"Co\" 😀" && sample.isUserEntered)
        #expect(sample.timeZone == "Europe/Paris" && sample.quantity == Quantity(72.5, .kilogram))
        #expect(sample.start == Instant("2024-05-01T06:00:00Z") && sample.end == sample.start)
        #expect(
            sample.metadata == [
                "meal": .string("a"), "Meal": .string("b"), "note": .string("x & y"),
                "HKWeatherTemperature": .quantity(Quantity(68, try HealthUnit(symbol: "degF"))),
                "HKMetadataKeyHeartRateMotionContext": .number(2),
            ])
    }

    @Test("Elements of unknown kinds within a record are kept as they stand, and written again")
    func unknown() throws {
        let inner = """
            <Mood scale="A&amp;B" note='x "y"'/>
              <Waves>
               <Wave at="1"/>
               <Wave at="2"/>
              </Waves>
            """
        let record = Export.record(
            "HKQuantityTypeIdentifierHeartRate", "61", "count/min", Export.date(1, "08:00:00"),
            metadata: [("HKMetadataKeyHeartRateMotionContext", "1")]
        ).replacing(" </Record>", with: "  \(inner)\n </Record>")
        let date = Export.date(2, "08:00:00")
        let workout = """
             <Workout workoutActivityType="HKWorkoutActivityTypeRunning" duration="1" durationUnit="min" \
            sourceName="Watch" creationDate="\(date)" startDate="\(date)" endDate="\(Export.date(2, "08:01:00"))">
              <Effort score="7"/>
             </Workout>
            """
        let report = try bench.take([record, workout])
        #expect(report.inserted == 2 && report.mended == 0 && report.quarantined == 0)
        let sample = try #require(try bench.samples(.heartRate).first)
        #expect(sample.metadata.count == 1 && sample.local.count == 1)
        let kept = LocalText.text(ExactKeys.elements, in: sample.local)
        #expect(
            kept?.split(separator: "\n").map { $0.drop { $0 == " " } }
                == inner.split(separator: "\n").map {
                    $0.drop { $0 == " " }
                })
        let path = bench.folder.path + "/out.xml"
        #expect(try HealthExport().write(bench.store, to: path).detailsLost == 0)
        let text = try String(contentsOfFile: path, encoding: .utf8)
        #expect(text.contains("<Mood scale=\"A&amp;B\" note='x \"y\"'/>") && text.contains("<Effort score=\"7\"/>"))
        let other = try SampleStore.open(at: bench.folder.path + "/other")
        try HealthImport().run(path, into: other)
        for type in [SampleType.heartRate, .workout] {
            let known = try bench.store.blockingRead { try $0.samples(SampleQuery(type)) }
            let found = try other.blockingRead { try $0.samples(SampleQuery(type)) }
            #expect(known.map(\.local) == found.map(\.local) && known.count == 1)
        }
        try other.close()
    }

    /// A record with many beats.
    private func record(_ day: Int, beats count: Int) -> String {
        let beats = (0..<count).map { beat in
            "   <InstantaneousBeatsPerMinute bpm=\"\(60 + beat % 40)\" time=\"6:14:\(10 + beat % 50).94 PM é\"/>"
        }
        return Export.record(
            "HKQuantityTypeIdentifierHeartRateVariabilitySDNN", "41.5", "ms", Export.date(day, "08:00:00"),
            metadata: [("a", "b")]
        ).replacing(
            " </Record>",
            with: "  <HeartRateVariabilityMetadataList>\n\(beats.joined(separator: "\n"))\n"
                + "  </HeartRateVariabilityMetadataList>\n </Record>")
    }

    @Test("What stands within a record is kept up to 1 MB, beats as well; what is longer is left out and counted")
    func longTexts() throws {
        let report = try bench.take([record(1, beats: 40_000), record(2, beats: 60_000)])
        #expect(report.inserted == 2 && report.quarantined == 0)
        #expect(report.keptOut.map(\.key) == [ExactKeys.beats] && report.keptOut[ExactKeys.beats]?.count == 1)
        let sample = try #require(try bench.samples(.heartRateVariabilitySDNN).first)
        let beats = try #require(LocalText.text(ExactKeys.beats, in: sample.local))
        #expect(beats.split(separator: "; ").count == 40_000 && beats.hasSuffix(" PM é") && sample.local.count > 10)
        let path = bench.folder.path + "/out.xml"
        #expect(try HealthExport().write(bench.store, to: path).detailsLost == 0)
        #expect(try HealthImport().run(path, into: bench.store).unchanged == 2)
        // An exact export carries them whole as well.
        var exact = HealthExport()
        exact.isExact = true
        try exact.write(bench.store, to: bench.folder.path + "/exact.xml")
        let other = try SampleStore.open(at: bench.folder.path + "/other")
        #expect(try HealthImport().run(bench.folder.path + "/exact.xml", into: other).inserted == 2)
        let found = try other.blockingRead { try $0.samples(SampleQuery(.heartRateVariabilitySDNN)) }
        #expect(try found == bench.samples(.heartRateVariabilitySDNN))
        try other.close()
    }

    @Test("A broken record of an exact export is taken whole as well") func brokenExact() throws {
        try bench.take([record(1, beats: 5_000), Export.weight("72.5", day: 2)])
        var exact = HealthExport()
        exact.isExact = true
        let path = bench.folder.path + "/exact.xml"
        try exact.write(bench.store, to: path)
        let text = try String(contentsOfFile: path, encoding: .utf8).replacing(" </Record>\n", with: "")
        let other = try SampleStore.open(at: bench.folder.path + "/other")
        let file = try bench.file("broken.xml", Array(text.utf8))
        let report = try HealthImport().run(file, into: other)
        #expect(report.inserted + report.quarantined == 2 && report.mended == report.inserted)
        for type in [SampleType.bodyMass, .heartRateVariabilitySDNN] {
            let found = try other.blockingRead { try $0.samples(SampleQuery(type)) }
            #expect(try found.isEmpty || found == bench.samples(type))
        }
        #expect(report.inserted > 0)
        try other.close()
    }

    @Test("Text, sections and depth within unknown elements are kept; beats there are none of the record")
    func unknownText() throws {
        let inner = """
            <Note>a &amp; b <![CDATA[ <c> & ]]></Note>
            <A><B><C><D><E><F><G><H><I><J x="1"/></I></H></G></F></E></D></C></B></A>
            <Waves><InstantaneousBeatsPerMinute bpm="60" time="1"/></Waves>
            """
        let lines = inner.split(separator: "\n").joined(separator: "\n  ")
        let record = Export.record(
            "HKQuantityTypeIdentifierHeartRate", "61", "count/min", Export.date(1, "08:00:00"),
            metadata: [("HKMetadataKeyHeartRateMotionContext", "1")]
        ).replacing(" </Record>", with: "  \(lines)\n </Record>")
        let correlation = """
             <Correlation type="HKCorrelationTypeIdentifierFood" sourceName="A" \
            creationDate="\(Export.date(2, "08:00:00"))" startDate="\(Export.date(2, "08:00:00"))" \
            endDate="\(Export.date(2, "08:00:00"))">
              <Mood scale="3"/>
             </Correlation>
            """
        let report = try bench.take([record, correlation])
        #expect(report.inserted == 1 && report.mended == 0 && report.quarantined == 0)
        // A group keeps nothing of its own.
        #expect(report.keptOut.map(\.key) == ["Mood"])
        let sample = try #require(try bench.samples(.heartRate).first)
        #expect(sample.local.count == 1 && LocalText.text(ExactKeys.elements, in: sample.local) == inner)
        let path = bench.folder.path + "/out.xml"
        #expect(try HealthExport().write(bench.store, to: path).detailsLost == 0)
        #expect(try HealthImport().run(path, into: bench.store).unchanged == 1)
    }

    @Test(
        "Kept elements are written only if every reader of XML takes them, and none as something else",
        arguments: [
            ("<A b=\"1\"/>", true), ("<A>x &lt; y<B c='\"'/></A>\n<D/>", true), ("<A b=\"R&D\"/>", false),
            ("<A b=\"&foo;\"/>", false), ("<A b=\"&#11;\"/>", false), ("<a:b/>", false), ("<1a/>", false),
            ("<A><!-- x --></A>", false), ("<A><?xml version=\"1.0\"?></A>", false), ("<A></B>", false),
            ("<A>", false), ("</A>", false), ("<A b=1/>", false), ("<A b=\"1\" b=\"2\"/>", false), ("text", false),
            ("<A/>text", false), ("<A>]]></A>", false), ("<A b=\"<\"/>", false), ("<A>\u{B}</A>", false),
            ("<MetadataEntry key=\"HKWasUserEntered\" value=\"1\"/>", false), ("<Record/>", false),
            ("<A><Record/></A>", false), ("<WorkoutEvent/>", false), ("", true),
        ])
    func fragments(text: String, isWritten: Bool) throws {
        #expect(Fragment.isWhole(text) == isWritten)
        var sample = Sample(.heartRate, 61, .countPerMinute, at: Instant("2024-05-01T06:00:00Z")!)
        sample.local[ExactKeys.elements] = .string(text)
        try bench.store.write { [sample] in _ = try $0.save(sample) }
        let path = bench.folder.path + "/out.xml"
        let report = try HealthExport().write(bench.store, to: path)
        #expect(report.detailsLost == 1)
        let written = try String(contentsOfFile: path, encoding: .utf8)
        #expect(text.isEmpty || written.contains(text) == isWritten)
    }

    @Test("Categories are read by their names")
    func categories() throws {
        func sleep(_ value: String, _ day: Int) -> String {
            Export.record(
                "HKCategoryTypeIdentifierSleepAnalysis", value, nil, Export.date(day, "01:00:00"),
                to: Export.date(day, "06:00:00"), source: "Watch")
        }
        try bench.take([
            sleep("HKCategoryValueSleepAnalysisAsleepREM", 1), sleep("HKCategoryValueSleepAnalysisInBed", 2),
            sleep("HKCategoryValueSleepAnalysisAsleep", 3),
        ])
        #expect(try bench.samples(.sleepAnalysis).map(\.quantity.value) == [5, 0, 1])
        #expect(try bench.take([sleep("HKCategoryValueSleepAnalysisFlying", 4)]).quarantined == 1)
        #expect(try bench.take([sleep("HKCategoryValueSleepAnalysisNotInBed", 5)]).quarantined == 1)
    }

    /// A food of one value, as a correlation.
    private static func food(_ members: [(type: String, value: String, unit: String)]) -> String {
        let date = Export.date(1, "12:00:00")
        let records = members.map { type, value, unit in
            Export.record("HKQuantityTypeIdentifierDietary\(type)", value, unit, date, source: "Diary", indent: "  ")
        }
        return " <Correlation type=\"HKCorrelationTypeIdentifierFood\" sourceName=\"Diary\" creationDate=\"\(date)\" "
            + "startDate=\"\(date)\" endDate=\"\(date)\">\n" + records.joined(separator: "\n") + "\n </Correlation>"
    }

    @Test("Foods of one time keep to themselves, though a later export holds more of them, in another order")
    func foodsOfOneTime() throws {
        let banana = Self.food([("EnergyConsumed", "105", "kcal"), ("Carbohydrates", "27", "g")])
        let bread = Self.food([("EnergyConsumed", "80", "kcal"), ("Carbohydrates", "15", "g")])
        let apple = Self.food([("EnergyConsumed", "95", "kcal"), ("Carbohydrates", "25", "g")])
        func groups() throws -> [Double: String] {
            var groups: [Double: String] = [:]
            for type in [SampleType.dietaryEnergyConsumed, .dietaryCarbohydrates] {
                for sample in try bench.samples(type) { groups[sample.quantity.value] = sample.group }
            }
            return groups
        }
        try bench.take([banana, bread])
        let first = try groups()
        #expect(first[105] == first[27] && first[80] == first[15] && first[105] != first[80] && first[105] != nil)
        for file in [[apple, bread, banana], [banana, apple], [bread, apple, banana]] {
            try bench.take(file)
            let groups = try groups()
            #expect(groups.filter { $0.key != 95 && $0.key != 25 } == first)
            #expect(groups[95] == groups[25] && groups[95] != nil && Set(groups.values).count == 3)
        }
    }

    @Test("What joins a meal in a later export joins the group that its other members have, also in other units")
    func mealThatGrows() throws {
        try bench.take([Self.food([("EnergyConsumed", "105", "kcal"), ("Carbohydrates", "27", "g")])])
        let group = try #require(try bench.samples(.dietaryCarbohydrates).first?.group)
        try bench.take([
            Self.food([("Carbohydrates", "27", "g"), ("Protein", "1.3", "g"), ("EnergyConsumed", "439.3", "kJ")])
        ])
        #expect(try bench.samples(.dietaryProtein).map(\.group) == [group])
        #expect(try bench.samples(.dietaryEnergyConsumed).map(\.group) == [group])
        #expect(try bench.store.check().isClean)
    }

    @Test("The records of a correlation form a group, and stand only once in the store")
    func correlation() throws {
        func part(_ type: String, _ value: String, _ indent: String) -> String {
            Export.record(type, value, "mmHg", Export.date(1, "08:00:00"), source: "Cuff", indent: indent)
        }
        let (upper, lower) = (
            "HKQuantityTypeIdentifierBloodPressureSystolic", "HKQuantityTypeIdentifierBloodPressureDiastolic"
        )
        let date = Export.date(1, "08:00:00")
        let whole =
            " <Correlation type=\"HKCorrelationTypeIdentifierBloodPressure\" sourceName=\"Cuff\" creationDate=\"\(date)\" "
            + "startDate=\"\(date)\" endDate=\"\(date)\">\n\(part(upper, "120", "  "))\n\(part(lower, "80", "  "))\n"
            + " </Correlation>"
        let alone = [part(upper, "120", " "), part(lower, "80", " ")]
        for elements in [alone + [whole], [whole] + alone, [whole]] {
            let bench = try ImportBench()
            try bench.take(elements)
            let samples = try bench.samples(.bloodPressureSystolic) + bench.samples(.bloodPressureDiastolic)
            #expect(samples.map(\.quantity.value) == [120, 80])
            #expect(samples[0].group != nil && samples[0].group == samples[1].group)
            let again = try bench.take(elements)
            #expect(again.inserted == 0 && again.replaced == 0 && again.unchanged == again.read)
        }
    }

    @Test("An event of a workout at an impossible time ends no import")
    func impossibleEvent() throws {
        for (date, duration) in [
            ("2293-01-01 00:00:00 +0000", "99999999"), (Export.date(1, "08:10:00"), "99999999999"),
        ] {
            let element =
                " <Workout workoutActivityType=\"HKWorkoutActivityTypeRunning\" sourceName=\"Watch\" "
                + "startDate=\"\(Export.date(1, "08:00:00"))\" endDate=\"\(Export.date(1, "08:40:00"))\">\n"
                + "  <WorkoutEvent type=\"HKWorkoutEventTypePause\" date=\"\(date)\" duration=\"\(duration)\" "
                + "durationUnit=\"s\"/>\n </Workout>"
            let report = try bench.take([element])
            #expect(report.inserted + report.unchanged == 1 && report.read == 1)
        }
        #expect(try bench.store.check().isClean)
    }

    @Test("A workout has its duration, totals, events and parts", arguments: [true, false])
    func workout(isNew: Bool) throws {
        let dates = "startDate=\"\(Export.date(1, "08:00:00"))\" endDate=\"\(Export.date(1, "08:40:00"))\""
        let totals =
            "totalEnergyBurned=\"312.5\" totalEnergyBurnedUnit=\"kcal\" totalDistance=\"5.5\" totalDistanceUnit=\"km\""
        let statistics = """
              <WorkoutStatistics type="HKQuantityTypeIdentifierActiveEnergyBurned" \(dates) sum="312.5" unit="kcal"/>
              <WorkoutStatistics type="HKQuantityTypeIdentifierDistanceWalkingRunning" \(dates) sum="5.5" unit="km"/>
              <WorkoutStatistics type="HKQuantityTypeIdentifierHeartRate" \(dates) average="130" minimum="90" maximum="170" unit="count/min"/>

            """
        let element =
            " <Workout workoutActivityType=\"HKWorkoutActivityTypeRunning\" duration=\"35.5\" durationUnit=\"min\" "
            + "\(isNew ? "" : totals) sourceName=\"Watch\" \(dates)>\n"
            + "  <MetadataEntry key=\"HKIndoorWorkout\" value=\"0\"/>\n"
            + "  <WorkoutEvent type=\"HKWorkoutEventTypePause\" date=\"\(Export.date(1, "08:10:00"))\"/>\n"
            + "  <WorkoutEvent type=\"HKWorkoutEventTypeSegment\" date=\"\(Export.date(1, "08:10:00"))\" duration=\"2\" "
            + "durationUnit=\"min\"/>\n\(isNew ? statistics : "")"
            + "  <WorkoutActivity uuid=\"0B1C2D3E-0000-4000-8000-000000000001\" "
            + "workoutActivityType=\"HKWorkoutActivityTypeRunning\" \(dates) duration=\"35\" durationUnit=\"min\">\n"
            + "   <WorkoutEvent type=\"HKWorkoutEventTypeLap\" date=\"\(Export.date(1, "08:20:00"))\"/>\n"
            + "  </WorkoutActivity>\n </Workout>"
        let report = try bench.take([element])
        #expect(report.inserted == 1 && report.mended == 0)
        let sample = try #require(try bench.samples(.workout).first)
        let workout = try #require(sample.workout)
        #expect(sample.duration == 35.5 * 60 && workout.activityType == .running)
        #expect(workout.energy == Quantity(312.5, .kilocalorie) && workout.distance == Quantity(5.5, .kilometer))
        #expect(workout.events.map(\.kind) == [.pause, .segment])
        #expect(workout.events[1].end == workout.events[1].start + 120 * Instant.nanosecondsPerSecond)
        #expect(workout.statistics.count == (isNew ? 3 : 0) && workout.activities.map(\.events.count) == [1])
        #expect(sample.metadata == ["HKIndoorWorkout": .bool(false)])
        #expect(try bench.take([element]).unchanged == 1)
    }

    @Test("Parts of a workout that say what no part can say are kept as they stand, and exported so")
    func unreadParts() throws {
        let (start, end) = (Export.date(1, "08:00:00"), Export.date(1, "08:40:00"))
        let unread = [
            "<WorkoutEvent type=\"HKWorkoutEventTypeOfLater\" date=\"\(start)\"/>",
            "<WorkoutStatistics type=\"HKQuantityTypeIdentifierHeartRate\" startDate=\"\(start)\" "
                + "endDate=\"\(end)\" average=\"130\" unit=\"kg\"/>",
            "<WorkoutActivity workoutActivityType=\"HKWorkoutActivityTypeRunning\" startDate=\"soon\">"
                + "<WorkoutEvent type=\"HKWorkoutEventTypeLap\" date=\"\(start)\"/></WorkoutActivity>",
            "<WorkoutEvent type=\"HKWorkoutEventTypeLap\" date=\"then\"/>",
        ]
        let element =
            " <Workout workoutActivityType=\"HKWorkoutActivityTypeRunning\" sourceName=\"Watch\" "
            + "startDate=\"\(start)\" endDate=\"\(end)\">\n  \(unread[0])\n"
            + "  <WorkoutEvent type=\"HKWorkoutEventTypePause\" date=\"\(Export.date(1, "08:10:00"))\"/>\n"
            + "  \(unread[1])\n  \(unread[2])\n  <WorkoutActivity uuid=\"0B1C2D3E-0000-4000-8000-000000000001\" "
            + "workoutActivityType=\"HKWorkoutActivityTypeRunning\" startDate=\"\(start)\" endDate=\"\(end)\">\n"
            + "   \(unread[3])\n  </WorkoutActivity>\n </Workout>"
        let report = try bench.take([element])
        #expect(report.inserted == 1 && report.mended == 1 && report.quarantined == 0)
        let sample = try #require(try bench.samples(.workout).first)
        #expect(sample.workout?.events.map(\.kind) == [.pause] && sample.workout?.statistics.isEmpty == true)
        #expect(sample.workout?.activities.map(\.events.count) == [0])
        #expect(LocalText.text(ExactKeys.elements, in: sample.local) == unread.joined(separator: "\n"))
        #expect(try bench.take([element]).unchanged == 1)
        let path = bench.folder.path + "/out.xml"
        #expect(try HealthExport().write(bench.store, to: path).detailsLost == 0)
        let other = try SampleStore.open(at: bench.folder.path + "/other")
        #expect(try HealthImport().run(path, into: other).inserted == 1)
        let found = try other.blockingRead { try $0.samples(SampleQuery(.workout)) }
        #expect(found.map(\.local) == [sample.local] && found.map(\.workout) == [sample.workout])
        try other.close()
    }

    @Test("Entries of a key that stands more often than a sample has places for are counted")
    func keyWithoutPlace() throws {
        let entries = (1...300).map { ("Note", "\($0)") }
        let record = Export.record(
            "HKQuantityTypeIdentifierHeartRate", "61", "count/min", Export.date(1, "08:00:00"), metadata: entries)
        let report = try bench.take([record])
        #expect(report.inserted == 1 && report.keptOut["MetadataEntry"]?.count == 45)
        #expect(try bench.samples(.heartRate).first?.metadata.count == 255)
        #expect(try bench.take([record]).unchanged == 1)
    }

    @Test("An activity within a workout ends after its duration, or with the workout, if it has no end of its own")
    func activitiesWithoutEnds() throws {
        func activity(_ start: String, _ more: String) -> String {
            "  <WorkoutActivity uuid=\"\(SampleID())\" workoutActivityType=\"HKWorkoutActivityTypeCycling\" "
                + "startDate=\"\(Export.date(1, start))\"\(more)>\n   <WorkoutStatistics "
                + "type=\"HKQuantityTypeIdentifierDistanceCycling\" startDate=\"\(Export.date(1, start))\" "
                + "endDate=\"\(Export.date(1, start))\" sum=\"2\" unit=\"km\"/>\n  </WorkoutActivity>\n"
        }
        let report = try bench.take([
            " <Workout workoutActivityType=\"HKWorkoutActivityTypeCycling\" duration=\"60\" durationUnit=\"min\" "
                + "sourceName=\"Watch\" startDate=\"\(Export.date(1, "08:00:00"))\" endDate=\""
                + "\(Export.date(1, "09:00:00"))\">\n"
                + activity("08:00:00", " duration=\"25\" durationUnit=\"min\"") + activity("08:30:00", "")
                + " </Workout>"
        ])
        #expect(report.inserted == 1 && report.mended == 0)
        let workout = try #require(try bench.samples(.workout).first?.workout)
        #expect(workout.activities.map { $0.end - $0.start } == [.seconds(25 * 60), .seconds(30 * 60)])
        #expect(workout.activities.map(\.statistics.count) == [1, 1])
    }

    @Test("Beats of a heart rate series are kept as they stand in the file")
    func beats() throws {
        let date = Export.date(1, "08:00:00")
        try bench.take([
            """
             <Record type="HKQuantityTypeIdentifierHeartRateVariabilitySDNN" sourceName="Watch" unit="ms"
              startDate="\(date)" endDate="\(date)" value="41.5">
              <HeartRateVariabilityMetadataList>
               <InstantaneousBeatsPerMinute bpm="61" time="6:14:48.94 PM"/>
               <InstantaneousBeatsPerMinute bpm="62" time="00:20:37,80"/>
              </HeartRateVariabilityMetadataList>
             </Record>
            """
        ])
        let sample = try #require(try bench.samples(.heartRateVariabilitySDNN).first)
        #expect(sample.local["InstantaneousBeatsPerMinute"] == .string("61 6:14:48.94 PM; 62 00:20:37,80"))
    }

    @Test("What is not imported is counted by kind")
    func keptOut() throws {
        let report = try bench.take([
            " <Me HKCharacteristicTypeIdentifierBloodType=\"x\"/>", Export.weight("72", day: 1),
            " <ClinicalRecord type=\"a\" identifier=\"b\"/>", " <ClinicalRecord type=\"a\" identifier=\"c\"/>",
            " <Audiogram type=\"a\">\n  <SensitivityPoint frequencyValue=\"500\"/>\n </Audiogram>",
        ])
        #expect(report.inserted == 1 && report.quarantined == 0)
        #expect(report.keptOut["ClinicalRecord"]?.count == 2 && report.keptOut["Audiogram"]?.count == 1)
    }

    @Test("Types, sources and times can be chosen")
    func filters() throws {
        let elements = [
            Export.weight("70", day: 1), Export.weight("71", day: 2, source: "Other"), Export.weight("72", day: 3),
            Export.steps("5", day: 2),
        ]
        var task = HealthImport()
        task.types = [.bodyMass]
        task.sources = ["Scale"]
        task.range = TimeRange(from: Instant("2024-05-02T00:00:00Z")!, to: .distantFuture)
        let report = try bench.take(elements, task)
        #expect(report.read == 4 && report.inserted == 1 && report.skipped == 3)
        #expect(try bench.samples(.bodyMass).map(\.quantity.value) == [72])
    }

    @Test("A record that cannot be read is skipped where its type or source is not wanted, and else quarantined")
    func unwantedDamage() throws {
        func broken(_ record: String) -> String { record.replacing("2024-05-02", with: "2024-55-02") }
        let elements = [
            Export.weight("70", day: 1), broken(Export.steps("5", day: 2)),
            broken(Export.weight("71", day: 2, source: "Other")),
            Export.steps("6", day: 3).replacing(" value=\"6\"", with: " value=\"six\""),
            #" <Workout workoutActivityType="HKWorkoutActivityTypeRunning" sourceName="Scale" startDate="never"/>"#,
        ]
        #expect(try bench.take(elements).quarantined >= 2)
        var task = HealthImport()
        task.types = [.bodyMass]
        task.sources = ["Scale"]
        let report = try bench.take(elements, task)
        #expect(
            report.quarantined == 0 && report.read == 5 && report.skipped == 4 && report.unchanged == 1, "\(report)")
        task.sources = ["Scale", "Other"]
        #expect(try bench.take(elements, task).quarantined == 1)
    }

    @Test("A dry run tells what an import would do, and changes nothing")
    func dryRun() throws {
        try bench.take([Export.weight("70", day: 1)])
        let before = try bench.samples(.bodyMass)
        var task = HealthImport()
        task.isDryRun = true
        let report = try bench.take([Export.weight("70", day: 1), Export.weight("71", day: 2)], task)
        #expect(report.inserted == 1 && report.unchanged == 1)
        #expect(try bench.samples(.bodyMass) == before)
        let path = try bench.file("other.xml", Array(Export.document([Export.weight("70", day: 1)]).utf8))
        #expect(try task.run(path, into: nil).inserted == 1)
    }

    @Test("A file that is no export is refused, and so is one that declares entities")
    func refused() throws {
        #expect(throws: HealthImportError.self) { try bench.take(text: "no export") }
        #expect(throws: HealthImportError.self) { try bench.take(text: "") }
        let bomb = Export.document([Export.weight("70", day: 1)]).replacing(
            "<!ATTLIST", with: "<!ENTITY lol \"lol\">\n<!ATTLIST")
        #expect(throws: HealthImportError.self) { try bench.take(text: bomb) }
        #expect(try bench.samples(.bodyMass).isEmpty)
    }
}
