import HealthKV
import HealthModel

/// Writes samples as the elements of an export.
struct SampleWriter {
    private(set) var line: ExportLine
    /// Whether each sample is carried whole, as metadata that an import takes back.
    private let isExact: Bool
    /// Whether routes have files beside the export.
    private let hasFiles: Bool
    private(set) var report = HealthExportReport()
    /// The routes that have been written, and the files of their points.
    private(set) var routes: [(id: SampleID, file: String)] = []

    init(offset: Int, isExact: Bool, hasFiles: Bool) {
        line = ExportLine(offset: offset)
        self.isExact = isExact
        self.hasFiles = hasFiles
    }

    /// Takes the bytes that were written since the last time.
    mutating func take() -> [UInt8] {
        let bytes = line.bytes
        report.bytes += bytes.count
        line.removeAll()
        return bytes
    }

    mutating func appendHead(exportDate: Instant, _ settings: ExactSettings?) throws {
        line.append(DocumentType.head)
        line.append(" <ExportDate")
        line.attribute("value", exportDate)
        line.append("/>\n")
        guard let settings else { return }
        line.append(" <HealthKVSettings")
        line.attribute("value", try settings.text())
        line.append("/>\n")
    }

    mutating func appendEnd() { line.append("</HealthData>\n") }

    /// Appends a sample.
    ///
    /// - Parameters:
    ///   - depth: 1 at the top level, 2 within a correlation.
    ///   - routes: the routes of a workout that stand within it.
    mutating func append(_ sample: Sample, depth: Int = 1, with routes: [Sample] = []) throws {
        if depth == 1 { count(sample) }
        if sample.type == .workout, let workout = sample.workout {
            return try append(sample, workout, routes, depth: depth)
        }
        line.indent(depth)
        line.append("<Record")
        line.attribute("type", sample.type.identifier)
        appendSource(sample)
        if sample.type.kind != .category { line.attribute("unit", sample.quantity.unit.symbol) }
        appendTimes(sample)
        let name = LocalText.text(ExactKeys.value, in: sample.local) ?? sample.categoryCase?.identifier
        line.attribute("value", name ?? ExportLine.decimal(sample.quantity.value))
        let (metadata, beats) = (try metadata(of: sample), SampleWriter.beats(of: sample))
        let elements = SampleWriter.elements(of: sample)
        if metadata.isEmpty, beats.isEmpty, elements == nil {
            line.append("/>\n")
            return
        }
        line.append(">\n")
        append(metadata, depth: depth + 1)
        append(beats: beats, depth: depth + 1)
        append(elements: elements, depth: depth + 1)
        line.indent(depth)
        line.append("</Record>\n")
    }

    /// Appends a group as a correlation. Its members stand at the top level as well.
    ///
    /// - Parameter own: the sample of the correlation itself, which a peer gives beside the members.
    mutating func append(correlation type: SampleType, _ members: [Sample], own: Sample?) throws {
        guard let first = own ?? members.first else { return }
        if let own { count(own) }
        line.append(" <Correlation")
        line.attribute("type", type.identifier)
        appendSource(first)
        let start = own?.start ?? members.map(\.start).min() ?? first.start
        let end = own?.end ?? members.map(\.end).max() ?? start
        line.attribute("creationDate", first.creation ?? start)
        line.attribute("startDate", start)
        appendEnd(end)
        line.append(">\n")
        if let own { append(try metadata(of: own), depth: 2) }
        for member in members { try append(member, depth: 2) }
        line.append(" </Correlation>\n")
    }

    /// Appends the summary of a day.
    mutating func append(summaryOf day: String, _ totals: [SampleType: DailyTotal]) {
        line.append(" <ActivitySummary")
        line.attribute("dateComponents", day)
        for ring in SummaryReader.rings {
            guard let total = totals[ring.type] else { continue }
            func number(_ value: Double?) -> Double? {
                guard let value else { return nil }
                guard let unit = ring.unit else { return value }
                return try? Quantity(value, total.unit).value(in: unit)
            }
            if let value = number(total.value) { line.attribute(ring.total.text, value) }
            if let goal = number(total.goal) { line.attribute(ring.goal.text, goal) }
            if ring.unit == nil { line.attribute(ExportName.activeEnergyBurnedUnit.text, total.unit.symbol) }
            report.totals += 1
        }
        line.append("/>\n")
    }

    private static func end(of sample: Sample) -> Instant { sample.isOpenEnded ? sample.start : sample.end }

    private mutating func appendEnd(_ end: Instant) {
        if end == .distantFuture {
            line.attribute("endDate", ExportDates.openEnd)
        } else {
            line.attribute("endDate", end)
        }
    }

    private mutating func append(_ sample: Sample, _ workout: Workout, _ routes: [Sample], depth: Int) throws {
        line.indent(depth)
        line.append("<Workout")
        let activity = LocalText.text(ExactKeys.value, in: sample.local) ?? SampleWriter.name(of: workout.activityType)
        line.attribute("workoutActivityType", activity)
        append("duration", "durationUnit", sample.quantity.value.isFinite ? sample.quantity : nil)
        append("totalDistance", "totalDistanceUnit", workout.distance)
        append("totalEnergyBurned", "totalEnergyBurnedUnit", workout.energy)
        append("totalSwimmingStrokeCount", "totalSwimmingStrokeCountUnit", workout.strokes)
        append("totalFlightsClimbed", "totalFlightsClimbedUnit", workout.flights)
        appendSource(sample)
        appendTimes(sample)
        line.append(">\n")
        append(try metadata(of: sample), depth: depth + 1)
        append(workout.events, workout.statistics, depth: depth + 1)
        for part in workout.activities {
            line.indent(depth + 1)
            line.append("<WorkoutActivity")
            line.attribute("uuid", part.id.description)
            line.attribute("workoutActivityType", SampleWriter.name(of: part.activityType))
            line.attribute("startDate", part.start)
            line.attribute("endDate", part.end == .distantFuture ? part.start : part.end)
            append("duration", "durationUnit", part.duration)
            line.append(">\n")
            append(entries(part.metadata), depth: depth + 2)
            append(part.events, part.statistics, depth: depth + 2)
            line.indent(depth + 1)
            line.append("</WorkoutActivity>\n")
        }
        append(beats: SampleWriter.beats(of: sample), depth: depth + 1)
        append(elements: SampleWriter.elements(of: sample), depth: depth + 1)
        for route in routes { try append(route: route, depth: depth + 1) }
        line.indent(depth)
        line.append("</Workout>\n")
    }

    /// Appends a route within its workout, and names the file of its points.
    private mutating func append(route: Sample, depth: Int) throws {
        routes.append((route.id, "workout-routes/route_\(routes.count + 1).gpx"))
        count(route)
        line.indent(depth)
        line.append("<WorkoutRoute")
        appendSource(route)
        appendTimes(route)
        line.append(">\n")
        append(try metadata(of: route), depth: depth + 1)
        append(elements: SampleWriter.elements(of: route), depth: depth + 1)
        if hasFiles, let file = routes.last?.file {
            line.indent(depth + 1)
            line.append("<FileReference")
            line.attribute("path", "/" + file)
            line.append("/>\n")
        }
        line.indent(depth)
        line.append("</WorkoutRoute>\n")
    }

    private mutating func append(_ events: [WorkoutEvent], _ statistics: [WorkoutStatistics], depth: Int) {
        for event in events {
            guard let name = SampleWriter.eventNames[event.kind] else { continue }
            line.indent(depth)
            line.append("<WorkoutEvent")
            line.attribute("type", name)
            line.attribute("date", event.start)
            if event.end != event.start {
                append(
                    "duration", "durationUnit",
                    Quantity((event.end - event.start.nanoseconds).secondsSinceReference, .second))
            }
            line.append(event.metadata.isEmpty ? "/>\n" : ">\n")
            guard !event.metadata.isEmpty else { continue }
            append(entries(event.metadata), depth: depth + 1)
            line.indent(depth)
            line.append("</WorkoutEvent>\n")
        }
        for item in statistics {
            line.indent(depth)
            line.append("<WorkoutStatistics")
            line.attribute("type", item.type.identifier)
            line.attribute("startDate", item.start)
            line.attribute("endDate", item.end)
            let values = [item.sum, item.average, item.minimum, item.maximum].compactMap(\.self)
            // One element has one unit.
            let unit = values.first?.unit ?? item.type.canonicalUnit ?? .count
            func value(_ quantity: Quantity?) -> Double? { quantity.flatMap { try? $0.value(in: unit) } }
            if let average = value(item.average) { line.attribute("average", average) }
            if let minimum = value(item.minimum) { line.attribute("minimum", minimum) }
            if let maximum = value(item.maximum) { line.attribute("maximum", maximum) }
            if let sum = value(item.sum) { line.attribute("sum", sum) }
            line.attribute("unit", unit.symbol)
            line.append("/>\n")
        }
    }

    private mutating func append(_ name: String, _ unitName: String, _ quantity: Quantity?) {
        guard let quantity else { return }
        line.attribute(name, quantity.value)
        line.attribute(unitName, quantity.unit.symbol)
    }

    private mutating func appendSource(_ sample: Sample) {
        line.attribute("sourceName", sample.source.name)
        if let version = sample.source.version { line.attribute("sourceVersion", version) }
        if let device = sample.device { line.attribute("device", ExportDevice.text(of: device)) }
    }

    private mutating func appendTimes(_ sample: Sample) {
        if let creation = sample.creation { line.attribute("creationDate", creation) }
        line.attribute("startDate", sample.start)
        appendEnd(sample.end)
    }

    private mutating func append(_ metadata: [(key: String, text: String)], depth: Int) {
        for (key, text) in metadata {
            line.indent(depth)
            line.append("<MetadataEntry")
            line.attribute("key", key)
            line.attribute("value", text)
            line.append("/>\n")
        }
    }

    /// Appends the beats of a heart rate series, as they stood in the file that they came from.
    private mutating func append(beats: [(rate: String, time: String)], depth: Int) {
        if beats.isEmpty { return }
        line.indent(depth)
        line.append("<HeartRateVariabilityMetadataList>\n")
        for (rate, time) in beats {
            line.indent(depth + 1)
            line.append("<InstantaneousBeatsPerMinute")
            line.attribute("bpm", rate)
            line.attribute("time", time)
            line.append("/>\n")
        }
        line.indent(depth)
        line.append("</HeartRateVariabilityMetadataList>\n")
    }

    /// Appends the elements that an import kept as they stood.
    private mutating func append(elements: String?, depth: Int) {
        guard let elements else { return }
        line.indent(depth)
        line.append(raw: elements)
        line.append("\n")
    }

    /// Returns the elements that an import kept as they stood; `nil` if there are none that may be written.
    private static func elements(of sample: Sample) -> String? {
        LocalText.text(ExactKeys.elements, in: sample.local).flatMap {
            Fragment.isWhole($0, inWorkout: sample.type == .workout) ? $0 : nil
        }
    }

    private static func beats(of sample: Sample) -> [(rate: String, time: String)] {
        guard let text = LocalText.text(ExactKeys.beats, in: sample.local) else { return [] }
        return text.split(separator: "; ").compactMap { beat in
            beat.firstIndex(of: " ").map { (String(beat[..<$0]), String(beat[beat.index(after: $0)...])) }
        }
    }

    private func metadata(of sample: Sample) throws -> [(key: String, text: String)] {
        var metadata = entries(sample.metadata)
        if sample.isUserEntered { metadata.append(("HKWasUserEntered", "1")) }
        if let zone = sample.timeZone { metadata.append(("HKTimeZone", zone)) }
        if let text = sample.syncIdentifier, text != sample.id.description {
            metadata.append(("HKMetadataKeySyncIdentifier", text))
            metadata.append(("HKMetadataKeySyncVersion", "\(sample.version)"))
        }
        if isExact { metadata.append((ExactKeys.sample, try ExactKeys.text(of: sample))) }
        return metadata
    }

    private func entries(_ metadata: [String: MetadataValue]) -> [(key: String, text: String)] {
        // What stood several times under one key stands so again, in its order.
        let places = metadata.filter { $0.key != ExactKeys.sample }.map { key, value in
            let (first, number) = RepeatedKey.place(of: key, in: metadata)
            return (key: first, number: number, text: SampleWriter.text(of: value))
        }
        return places.sorted { left, right in
            if isSameText(left.key, right.key) { return left.number < right.number }
            return left.key.utf8.lexicographicallyPrecedes(right.key.utf8)
        }.map { ($0.key, $0.text) }
    }

    private static func text(of value: MetadataValue) -> String {
        switch value {
        case .string(let text): text
        case .number(let number): ExportLine.decimal(number)
        case .bool(let flag): flag ? "1" : "0"
        case .date(let time): ExportLine(offset: 0).date(time)
        case .quantity(let quantity): "\(ExportLine.decimal(quantity.value)) \(quantity.unit.symbol)"
        }
    }

    private mutating func count(_ sample: Sample) {
        report.samples += 1
        if isExact { return }
        if !SampleWriter.areWhole([sample.start, SampleWriter.end(of: sample)]) { report.fractionsLost += 1 }
        if !DerivedID.isDerived(sample.id) { report.idsLost += 1 }
        let isRoute = sample.type == .workoutRoute
        let hasPlace = !isRoute || hasFiles && routes.last?.id == sample.id && sample.route != nil
        if !hasPlace {
            report.routesLost += 1
        } else if !SampleWriter.comesBack(sample) {
            report.detailsLost += 1
        }
    }

    private static func areWhole(_ times: [Instant]) -> Bool {
        times.allSatisfy { $0.nanoseconds % Instant.nanosecondsPerSecond == 0 }
    }

    /// Whether an import gives all fields of a sample again, apart from its id, its times and its group.
    private static func comesBack(_ sample: Sample) -> Bool {
        let source = sample.source
        guard source.bundle.isEmpty, source.system == nil, source.product == sample.device?.hardwareVersion,
            sample.origin == .imported, sample.count == 1, sample.original == nil, sample.reversion == nil,
            sample.local.keys.allSatisfy(isWritten), sample.type.kind != .correlation,
            sample.local[ExactKeys.elements] == nil || elements(of: sample) != nil,
            sample.version <= 1 || sample.syncIdentifier != nil, areWhole([sample.creation ?? sample.start])
        else { return false }
        if let route = sample.route, sample.quantity != Quantity(Double(route.points.count), .count) { return false }
        return comesBack(sample.metadata) && (sample.workout.map(comesBack) ?? true)
    }

    private static func isWritten(local key: String) -> Bool {
        [ExactKeys.beats, ExactKeys.elements, ExactKeys.value].contains { LocalText.isPart(key, of: $0) }
    }

    private static func comesBack(_ metadata: [String: MetadataValue]) -> Bool {
        metadata.allSatisfy { key, value in
            let first = RepeatedKey.place(of: key, in: metadata).key
            return key != ExactKeys.sample && ExportMetadata.value(text(of: value), of: first) == value
        }
    }

    private static func comesBack(_ workout: Workout) -> Bool {
        func areKept(_ events: [WorkoutEvent], _ statistics: [WorkoutStatistics]) -> Bool {
            events.allSatisfy {
                eventNames[$0.kind] != nil && areWhole([$0.start]) && comesBack($0.metadata)
            } && statistics.allSatisfy { areWhole([$0.start, $0.end]) }
        }
        return areKept(workout.events, workout.statistics)
            && workout.activities.allSatisfy {
                $0.end != .distantFuture && areWhole([$0.start, $0.end]) && comesBack($0.metadata)
                    && areKept($0.events, $0.statistics)
            }
    }

    mutating func countRouteLost() { report.routesLost += 1 }
    mutating func countGroupLost() { if !isExact { report.groupsLost += 1 } }

    static func name(of activity: WorkoutActivityType) -> String {
        guard let name = activity.name else { return "HKWorkoutActivityType(\(activity.rawValue))" }
        return "HKWorkoutActivityType" + name.prefix(1).uppercased() + name.dropFirst()
    }

    private static let eventNames: [WorkoutEvent.Kind: String] = [
        .pause: "HKWorkoutEventTypePause", .resume: "HKWorkoutEventTypeResume", .lap: "HKWorkoutEventTypeLap",
        .marker: "HKWorkoutEventTypeMarker", .motionPaused: "HKWorkoutEventTypeMotionPaused",
        .motionResumed: "HKWorkoutEventTypeMotionResumed", .segment: "HKWorkoutEventTypeSegment",
        .pauseOrResumeRequest: "HKWorkoutEventTypePauseOrResumeRequest",
    ]
}
