import Foundation
import HealthKV
import TestSupport
import Testing

@testable import AppleHealthExport

/// Exports that once ended the import, held it up, or lost something without a word.
@Suite("Exports that are hard to read")
struct HardExportTests {
    private let bench: ImportBench

    init() throws { bench = try ImportBench() }

    private func workout(_ activity: String, _ inside: String = "") -> String {
        "<Workout workoutActivityType=\"\(activity)\" duration=\"10\" durationUnit=\"min\" sourceName=\"Watch\" "
            + "startDate=\"\(Export.date(1, "08:00:00"))\" endDate=\"\(Export.date(1, "08:10:00"))\">\(inside)</Workout>"
    }

    @Test("Text between elements is passed over in the time that a file takes, however often it stands there")
    func textBetweenElements() throws {
        let text = String(repeating: "a<b/>", count: 60_000)
        let begun = ContinuousClock.now
        let report = try bench.take([text, Export.weight("70", day: 1)])
        #expect(report.inserted == 1 && report.quarantined == 60_000)
        // It took the square of the number: minutes.
        #expect(ContinuousClock.now - begun < .seconds(60))
    }

    @Test("What is counted of text behind the root does not depend on the pieces in which a file comes")
    func piecesBehindRoot() throws {
        struct Pieces: ByteSource {
            let bytes: [UInt8]
            let size: Int
            var place = 0

            mutating func read(into buffer: inout [UInt8], atMost count: Int) -> Int {
                let piece = bytes[place..<min(bytes.count, place + size)]
                buffer += piece
                place += piece.count
                return piece.count
            }
        }
        let text = Export.document([Export.weight("70", day: 1)]) + String(repeating: "left  \n behind\t\n", count: 40)
        let reports = try [1 << 20, 7, 61, 173].map { size in
            var (sink, reader) = (RecordSink(nil, WantedRecords(range: .all)), ExportReader())
            try reader.read(Pieces(bytes: Array(text.utf8), size: size), into: &sink, { _ in }, { _ in })
            try sink.finish(isWhole: true)
            return sink.report
        }
        #expect(reports.allSatisfy { $0 == reports[0] })
        #expect(reports[0].keptOut["text behind the root"]?.bytes == 400)
    }

    @Test("A correlation with more members than any meal has is put into quarantine, and the rest is taken")
    func manyMembers() throws {
        let members = (0..<66_000).map { number in
            Export.record(
                "HKQuantityTypeIdentifierDietaryEnergyConsumed", "1", "kcal", Export.date(1, "08:00:00"),
                source: "App \(number)")
        }
        let correlation =
            "<Correlation type=\"HKCorrelationTypeIdentifierFood\" sourceName=\"Diet\" "
            + "startDate=\"\(Export.date(1, "08:00:00"))\" endDate=\"\(Export.date(1, "08:00:00"))\">"
            + members.joined() + "</Correlation>"
        let report = try bench.take([correlation, Export.weight("70", day: 1)])
        #expect(report.quarantined == 1 && report.inserted == 1)
    }

    @Test("A broken record that says the type of a correlation in a text is mended like any other")
    func nameOfCorrelation() throws {
        let record = Export.record(
            "HKQuantityTypeIdentifierBodyMass", "70", "kg", Export.date(1, "08:00:00"), source: "My \"Diet\" app",
            metadata: [("parent", "HKCorrelationTypeIdentifierFood")])
        let report = try bench.take([record, Export.weight("71", day: 2)])
        #expect(report.read == 2 && report.inserted == 2 && report.mended == 1)
        #expect(try bench.samples(.bodyMass).map(\.quantity.value) == [70, 71])
    }

    @Test(
        "An activity is read by its name or its number, and digits within a name are none",
        arguments: [
            ("HKWorkoutActivityTypeRunning", WorkoutActivityType.running.rawValue),
            ("HKWorkoutActivityType(3000)", 3_000), ("HKWorkoutActivityType(rawValue: 83)", 83),
            ("HKWorkoutActivityType57", 57),
        ])
    func activity(name: String, number: UInt32) throws {
        try bench.take([workout(name), workout("HKWorkoutActivityTypeWater2Polo")])
        let activities = try bench.samples(.workout).compactMap(\.workout?.activityType)
        #expect(activities.contains { $0.rawValue == number })
        #expect(!activities.contains { $0.rawValue == 2 }, "\(activities)")
    }

    @Test("A key that stands twice in an event or an activity of a workout keeps both values")
    func repeatedKeys() throws {
        let twice = "<MetadataEntry key=\"K\" value=\"one\"/><MetadataEntry key=\"K\" value=\"two\"/>"
        let event =
            "<WorkoutEvent type=\"HKWorkoutEventTypeLap\" date=\"\(Export.date(1, "08:01:00"))\">\(twice)</WorkoutEvent>"
        let activity =
            "<WorkoutActivity workoutActivityType=\"HKWorkoutActivityTypeRunning\" "
            + "startDate=\"\(Export.date(1, "08:02:00"))\" endDate=\"\(Export.date(1, "08:03:00"))\">\(twice)</WorkoutActivity>"
        try bench.take([workout("HKWorkoutActivityTypeRunning", event + activity)])
        let found = try #require(try bench.samples(.workout).first?.workout)
        for metadata in [found.events.first?.metadata, found.activities.first?.metadata] {
            #expect(metadata?.count == 2, "\(String(describing: metadata))")
        }
    }

    @Test("Characteristics are counted as kept out, and cases of earlier systems are read")
    func otherParts() throws {
        let test = Export.record(
            "HKCategoryTypeIdentifierOvulationTestResult", "HKCategoryValueOvulationTestResultPositive", nil,
            Export.date(1, "08:00:00"))
        let noise = Export.record(
            "HKCategoryTypeIdentifierAudioExposureEvent", "HKCategoryValueAudioExposureEventLoudEnvironment", nil,
            Export.date(1, "08:00:00"))
        let report = try bench.take([
            "<Me HKCharacteristicTypeIdentifierBiologicalSex=\"HKBiologicalSexFemale\"/>", test, noise,
        ])
        #expect(report.keptOut["Me"]?.count == 1 && report.inserted == 2 && report.quarantined == 0)
    }
}
