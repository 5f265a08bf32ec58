import HealthKV
import HealthModel

/// Makes daily totals of the activity summaries of an export: what the rings showed on a day, and their goals.
struct SummaryReader {
    /// When the file was written; `nil` until that was read.
    private var written: (time: Instant, day: String)?

    /// One ring: the attributes of its total and goal, and what they measure. Exports do not name the units of minutes
    /// and hours.
    struct Ring {
        let total: ExportName
        let goal: ExportName
        let type: SampleType
        let unit: HealthUnit?
    }

    static let rings = [
        Ring(total: .activeEnergyBurned, goal: .activeEnergyBurnedGoal, type: .activeEnergyBurned, unit: nil),
        Ring(total: .appleMoveTime, goal: .appleMoveTimeGoal, type: .appleMoveTime, unit: .minute),
        Ring(total: .appleExerciseTime, goal: .appleExerciseTimeGoal, type: .appleExerciseTime, unit: .minute),
        Ring(total: .appleStandHours, goal: .appleStandHoursGoal, type: .appleStandHour, unit: .count),
    ]

    /// Notes when the file was written: the summary of that day was not complete yet.
    mutating func note(exportDate element: ExportElement, _ bytes: borrowing Span<UInt8>) {
        guard let date = element.attribute(ExportName.value.bytes, of: element.nodes[0], in: bytes),
            let time = ExportDates.read(date, in: bytes)
        else { return }
        let text = ExportText(date, in: bytes).text
        written = (Instant(nanoseconds: time), String(text.prefix(10)))
    }

    /// Reads the totals of a summary. A ring that shows nothing and has no goal was not in use.
    func totals(
        _ element: ExportElement, _ bytes: borrowing Span<UInt8>, _ reader: inout RecordReader,
        _ isMended: inout Bool
    ) throws(RecordReader.Refusal) -> [DailyTotal] {
        let node = element.nodes[0]
        guard let day = reader.text(.dateComponents, element, node, bytes, &isMended),
            let start = DailyTotal.start(of: day)
        else { throw RecordReader.Refusal(reason: "its day is missing or no date") }
        var totals: [DailyTotal] = []
        for ring in SummaryReader.rings {
            let value = try SummaryReader.number(ring.total, element, bytes)
            let goal = try SummaryReader.number(ring.goal, element, bytes)
            guard value ?? 0 != 0 || goal ?? 0 != 0 else { continue }
            let symbol = reader.text(.activeEnergyBurnedUnit, element, node, bytes, &isMended)
            guard let unit = ring.unit ?? symbol.flatMap({ reader.unit($0) }) else {
                throw RecordReader.Refusal(reason: "its unit of energy is none")
            }
            let total = DailyTotal(
                peer: .appleHealthExport, type: ring.type, day: day, zone: DailyTotal.floatingZone, value: value,
                goal: goal, unit: unit, isComplete: written.map { day < $0.day } ?? false,
                time: written?.time ?? start + DailyTotal.nanosecondsOfDay)
            do { try total.validate() } catch { throw RecordReader.Refusal(reason: "no store holds it: \(error)") }
            totals.append(total)
        }
        return totals
    }

    private static func number(
        _ name: ExportName, _ element: ExportElement, _ bytes: borrowing Span<UInt8>
    ) throws(RecordReader.Refusal) -> Double? {
        guard let attribute = element.attribute(name.bytes, of: element.nodes[0], in: bytes) else { return nil }
        guard let number = DecimalNumber.read(attribute, in: bytes) else {
            throw RecordReader.Refusal(reason: "its value is no number")
        }
        return number
    }
}

extension PeerID {
    /// The name under which a store keeps the daily totals of activity summaries (``DailyTotal``). Their days are dates
    /// only; the day on which the file was written is incomplete.
    public static let appleHealthExport: PeerID = "Apple Health export"
}

extension DailyTotal {
    static let nanosecondsOfDay = 86_400 * Instant.nanosecondsPerSecond

    /// Whether the day belongs to a range of times: its eleventh hour in universal time decides, which is on the same
    /// day in all zones from 11 hours behind to 12 ahead.
    func belongs(to range: TimeRange) -> Bool {
        guard range != .all else { return true }
        return DailyTotal.start(of: day).map { start in
            let middle = start + 11 * 3_600 * Instant.nanosecondsPerSecond
            return middle >= range.from && middle < range.to
        } ?? false
    }

    /// Returns when a day begins in universal time; `nil` if the text is not a day.
    static func start(of day: String) -> Instant? {
        let text = Array((day + " 00:00:00 +0000").utf8)
        guard text.count == ExportDates.length else { return nil }
        return ExportDates.read(text.span, at: 0).map { Instant(nanoseconds: $0) }
    }
}
