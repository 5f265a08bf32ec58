import HealthModel

/// Makes samples of the workouts of an export. Old exports carry totals as attributes, new ones as statistics.
struct WorkoutReader {
    private static let events: [String: WorkoutEvent.Kind] = [
        "HKWorkoutEventTypePause": .pause, "HKWorkoutEventTypeResume": .resume, "HKWorkoutEventTypeLap": .lap,
        "HKWorkoutEventTypeMarker": .marker, "HKWorkoutEventTypeMotionPaused": .motionPaused,
        "HKWorkoutEventTypeMotionResumed": .motionResumed, "HKWorkoutEventTypeSegment": .segment,
        "HKWorkoutEventTypePauseOrResumeRequest": .pauseOrResumeRequest,
    ]

    private static let parts: [ExportName] = [
        .workoutEvent, .workoutStatistics, .workoutActivity, .workoutRoute,
    ]

    /// Reads the workout of an element.
    static func record(
        _ element: ExportElement, _ bytes: borrowing Span<UInt8>, _ reader: inout RecordReader, _ isMended: inout Bool
    ) throws(RecordReader.Refusal) -> ImportedRecord {
        let node = element.nodes[0]
        let (start, end) = try reader.times(element, node, bytes)
        let source = try reader.source(element, node, bytes, &isMended)
        let named = activity(element, node, bytes, reader, &isMended)
        var isOdd = false
        guard let name = reader.text(.workoutActivityType, element, node, bytes, &isOdd), !name.isEmpty,
            named != nil || !isOdd
        else { throw RecordReader.Refusal(reason: "its activity is none") }
        var workout = Workout(named ?? .other)
        let given = quantity(.duration, .durationUnit, element, node, bytes, &reader, &isMended)
        let isOpen = end == Instant.distantFuture.nanoseconds
        if isOpen, given == nil { throw RecordReader.Refusal(reason: "it has neither an end nor a duration") }
        let seconds = (Double(end) - Double(start)) / Double(Instant.nanosecondsPerSecond)
        let duration = given ?? Quantity(seconds, .second)
        guard duration.unit.isCompatible(with: .second) else {
            throw RecordReader.Refusal(reason: "its duration has no unit of time")
        }
        workout.energy = quantity(.totalEnergyBurned, .totalEnergyBurnedUnit, element, node, bytes, &reader, &isMended)
        workout.distance = quantity(.totalDistance, .totalDistanceUnit, element, node, bytes, &reader, &isMended)
        workout.strokes = quantity(
            .totalSwimmingStrokeCount, .totalSwimmingStrokeCountUnit, element, node, bytes, &reader, &isMended)
        workout.flights = quantity(
            .totalFlightsClimbed, .totalFlightsClimbedUnit, element, node, bytes, &reader, &isMended)
        let unread = readParts(of: element, until: end, bytes, &reader, &isMended, into: &workout)
        setTotals(of: &workout)
        var record = ImportedRecord(
            type: .workout, value: duration.value, unit: duration.unit, start: Instant(nanoseconds: start),
            end: Instant(nanoseconds: end), source: source.source)
        record.device = source.device
        record.created = try reader.created(element, node, bytes) ?? record.earliestWriting
        // An activity that the catalog does not know yet is kept by its name.
        if named == nil { LocalText.set(name, as: ExactKeys.value, in: &record.local) }
        reader.readChildren(
            of: element, 0, bytes, into: &record, besides: WorkoutReader.parts, keeping: unread, &isMended)
        record.workout = workout
        try RecordReader.validate(record)
        return record
    }

    /// Returns the name of the file with the points of a route; `nil` if the route names none.
    static func reference(
        _ element: ExportElement, _ number: Int, _ bytes: borrowing Span<UInt8>, _ reader: RecordReader
    ) -> String? {
        for child in element.nodes[(number + 1)...] {
            guard child.depth > element.nodes[number].depth else { break }
            guard ExportName.fileReference.isName(of: child, in: bytes) else { continue }
            var isOdd = false
            return reader.text(.path, element, child, bytes, &isOdd)
        }
        return nil
    }

    /// Reads what a workout says of a route. A route without times or a source of its own has those of the workout.
    static func route(
        _ element: ExportElement, _ number: Int, _ bytes: borrowing Span<UInt8>, _ reader: inout RecordReader,
        _ isMended: inout Bool
    ) throws(RecordReader.Refusal) -> ImportedRecord {
        let node = element.nodes[number]
        func has(_ name: ExportName) -> Bool { element.attribute(name.bytes, of: node, in: bytes) != nil }
        let timed = has(.startDate) || has(.endDate) ? node : element.nodes[0]
        let times = try reader.times(element, timed, bytes)
        let named = has(.sourceName) ? node : element.nodes[0]
        let source = try reader.source(element, named, bytes, &isMended)
        var record = ImportedRecord(
            type: .workoutRoute, value: 0, unit: .count, start: Instant(nanoseconds: times.start),
            end: Instant(nanoseconds: times.end), source: source.source)
        record.device = source.device
        record.created = try reader.created(element, node, bytes)
        reader.readChildren(of: element, number, bytes, into: &record, besides: [.fileReference], &isMended)
        record.created = record.created ?? record.earliestWriting
        return record
    }

    /// Reads statistics, events and activities within a workout, each where it stands. Returns the nodes of those that
    /// say something else than their kind can say: a later event, a date that is none. They are kept as they stand.
    private static func readParts(
        of element: ExportElement, until end: Int64, _ bytes: borrowing Span<UInt8>, _ reader: inout RecordReader,
        _ isMended: inout Bool, into workout: inout Workout
    ) -> [Int] {
        var activity: WorkoutActivity?
        var unread: [Int] = []
        // What stands within a part that is kept as it stands is kept with it.
        var depthOfUnread = Int.max
        for (number, child) in element.nodes.enumerated().dropFirst() {
            if child.depth == 1, let finished = activity {
                workout.activities.append(finished)
                activity = nil
            }
            if child.depth > depthOfUnread { continue }
            depthOfUnread = .max
            if ExportName.workoutActivity.isName(of: child, in: bytes), child.depth == 1 {
                activity = part(element, child, until: end, bytes, &reader, &isMended)
                if activity == nil {
                    unread.append(number)
                    depthOfUnread = child.depth
                }
            } else if ExportName.workoutStatistics.isName(of: child, in: bytes) {
                guard let found = statistics(element, child, bytes, &reader, &isMended) else {
                    unread.append(number)
                    depthOfUnread = child.depth
                    continue
                }
                if child.depth > 1 { activity?.statistics.append(found) } else { workout.statistics.append(found) }
            } else if ExportName.workoutEvent.isName(of: child, in: bytes) {
                guard let found = event(element, number, bytes, &reader, &isMended) else {
                    unread.append(number)
                    depthOfUnread = child.depth
                    continue
                }
                if child.depth > 1 { activity?.events.append(found) } else { workout.events.append(found) }
            } else if ExportName.metadataEntry.isName(of: child, in: bytes), child.depth == 2, activity != nil,
                let entry = reader.metadata(element, child, bytes, &isMended)
            {
                let value = ExportMetadata.value(entry.text, of: entry.key)
                if activity?.metadata.add(value, as: entry.key) == false {
                    reader.keptOut.append((ExportName.metadataEntry.text, child.tag.count))
                }
            }
        }
        if let activity { workout.activities.append(activity) }
        if !unread.isEmpty { isMended = true }
        return unread
    }

    /// Totals come from statistics where there are some, otherwise from the attributes.
    private static func setTotals(of workout: inout Workout) {
        let given = workout
        WorkoutPart.setTotals(of: &workout)
        workout.energy = workout.energy ?? given.energy
        workout.distance = workout.distance ?? given.distance
        workout.strokes = workout.strokes ?? given.strokes
        workout.flights = workout.flights ?? given.flights
    }

    private static let family = "HKWorkoutActivityType"
    private static let rawValue = "rawValue: "

    private static func activity(
        _ element: ExportElement, _ node: ExportNode, _ bytes: borrowing Span<UInt8>, _ reader: RecordReader,
        _ isMended: inout Bool
    ) -> WorkoutActivityType? {
        guard let name = reader.text(.workoutActivityType, element, node, bytes, &isMended) else { return nil }
        if let activity = WorkoutActivityType(name) { return activity }
        // HealthKit prints activities that it has no name for by their number, in brackets or behind the family.
        var number = Substring(name.hasPrefix(family) ? name.dropFirst(family.count) : name[...])
        if number.last == ")", let open = number.lastIndex(of: "(") {
            number = number[number.index(after: open)...].dropLast()
            if number.hasPrefix(rawValue) { number = number.dropFirst(rawValue.count) }
        }
        return UInt32(number).map { WorkoutActivityType(rawValue: $0) }
    }

    /// Reads an activity of a workout that ends at a time. It may have no end of its own.
    private static func part(
        _ element: ExportElement, _ node: ExportNode, until last: Int64, _ bytes: borrowing Span<UInt8>,
        _ reader: inout RecordReader, _ isMended: inout Bool
    ) -> WorkoutActivity? {
        let duration = quantity(.duration, .durationUnit, element, node, bytes, &reader, &isMended)
        let (start, end): (Int64, Int64)
        if let times = try? reader.times(element, node, bytes) {
            (start, end) = times
        } else {
            guard element.attribute(ExportName.endDate.bytes, of: node, in: bytes) == nil,
                let from = element.attribute(ExportName.startDate.bytes, of: node, in: bytes),
                let first = ExportDates.read(from, in: bytes), first <= last
            else { return nil }
            (start, end) = (first, duration.flatMap { span($0, from: first) } ?? last)
        }
        let activity = activity(element, node, bytes, reader, &isMended) ?? .other
        var part = WorkoutActivity(activity, from: Instant(nanoseconds: start), to: Instant(nanoseconds: end))
        part.duration = duration
        if let id = reader.text(.uuid, element, node, bytes, &isMended).flatMap({ SampleID($0) }) {
            part.id = id
        } else {
            let prefix = DerivedID.Prefix(type: .workout, source: SourceIdentity(name: "WorkoutActivity"))
            part.id = DerivedID.id(prefix, start: start, end: end, value: Double(activity.rawValue), multiplicity: 0)
        }
        return part
    }

    private static func statistics(
        _ element: ExportElement, _ node: ExportNode, _ bytes: borrowing Span<UInt8>, _ reader: inout RecordReader,
        _ isMended: inout Bool
    ) -> WorkoutStatistics? {
        guard let identifier = reader.text(.type, element, node, bytes, &isMended), !identifier.isEmpty,
            let (start, end) = try? reader.times(element, node, bytes)
        else { return nil }
        let type = reader.type(identifier)
        var found = WorkoutStatistics(type, from: Instant(nanoseconds: start), to: Instant(nanoseconds: end))
        found.sum = quantity(.sum, .unit, element, node, bytes, &reader, &isMended)
        found.average = quantity(.average, .unit, element, node, bytes, &reader, &isMended)
        found.minimum = quantity(.minimum, .unit, element, node, bytes, &reader, &isMended)
        found.maximum = quantity(.maximum, .unit, element, node, bytes, &reader, &isMended)
        let quantities = [found.sum, found.average, found.minimum, found.maximum].compactMap(\.self)
        guard let unit = type.canonicalUnit else { return found }
        return quantities.allSatisfy { $0.unit.isCompatible(with: unit) } ? found : nil
    }

    private static func event(
        _ element: ExportElement, _ number: Int, _ bytes: borrowing Span<UInt8>, _ reader: inout RecordReader,
        _ isMended: inout Bool
    ) -> WorkoutEvent? {
        let node = element.nodes[number]
        guard let name = reader.text(.type, element, node, bytes, &isMended), let kind = events[name],
            let date = element.attribute(ExportName.date.bytes, of: node, in: bytes),
            let start = ExportDates.read(date, in: bytes)
        else { return nil }
        let duration = quantity(.duration, .durationUnit, element, node, bytes, &reader, &isMended)
        guard start < Instant.latest.nanoseconds else { return nil }
        let end = duration.flatMap { span($0, from: start) } ?? start
        var event = WorkoutEvent(kind, from: Instant(nanoseconds: start), to: Instant(nanoseconds: end))
        for child in element.nodes[(number + 1)...] {
            guard child.depth > node.depth else { break }
            guard let entry = reader.metadata(element, child, bytes, &isMended) else { continue }
            if !event.metadata.add(ExportMetadata.value(entry.text, of: entry.key), as: entry.key) {
                reader.keptOut.append((ExportName.metadataEntry.text, child.tag.count))
            }
        }
        return event
    }

    /// Returns the time that is a duration after another one; `nil` if no part of a workout lasts so long.
    private static func span(_ duration: Quantity, from start: Int64) -> Int64? {
        guard let seconds = try? duration.value(in: .second), seconds >= 0, seconds < 1e8 else { return nil }
        let length = Int64((seconds * Double(Instant.nanosecondsPerSecond)).rounded())
        let (end, isTooLate) = start.addingReportingOverflow(length)
        return isTooLate || end >= Instant.latest.nanoseconds ? nil : end
    }

    /// Reads a number and its unit from two attributes.
    private static func quantity(
        _ name: ExportName, _ unitName: ExportName, _ element: ExportElement, _ node: ExportNode,
        _ bytes: borrowing Span<UInt8>, _ reader: inout RecordReader, _ isMended: inout Bool
    ) -> Quantity? {
        guard let attribute = element.attribute(name.bytes, of: node, in: bytes) else { return nil }
        let symbol = reader.text(unitName, element, node, bytes, &isMended)
        guard let value = DecimalNumber.read(attribute, in: bytes) else {
            isMended = true
            return nil
        }
        if symbol == nil, name.bytes == ExportName.duration.bytes { return Quantity(value, .minute) }
        guard let symbol, let unit = reader.unit(symbol) else {
            isMended = true
            return nil
        }
        return Quantity(value, unit)
    }
}
