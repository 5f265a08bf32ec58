import HealthModel

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Makes Observations of samples and collects them in bundles.
struct ObservationWriter {
    private let line: ExportLine
    private let subject: String?
    private let pageSize: Int
    private let encoder = JSONEncoder()
    private var page: [ObservationBundle.Entry] = []
    /// How many Observations were appended, and what they have no place for.
    private(set) var report = HealthExportReport()
    private var groups: Set<SampleGroup> = []

    init(offset: Int, subject: String?, pageSize: Int) {
        precondition(pageSize > 0, "a bundle has at least one Observation")
        line = ExportLine(offset: offset)
        self.subject = subject
        self.pageSize = pageSize
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    }

    var isFull: Bool { page.count >= pageSize }

    /// Returns the bundle of what was appended since the last one; `nil` if nothing was.
    mutating func take() throws -> [UInt8]? {
        guard !page.isEmpty else { return nil }
        let bundle = try encoder.encode(ObservationBundle(entry: page))
        page.removeAll(keepingCapacity: true)
        return Array(bundle)
    }

    mutating func append(_ sample: Sample) {
        var observation = observation(of: sample, ObservationCodes.concept(of: sample.type, sample.quantity.unit))
        if sample.type.kind == .category {
            observation.valueCodeableConcept = ObservationWriter.value(of: sample)
        } else {
            observation.valueQuantity = ObservationWriter.amount(sample.quantity)
            if observation.valueQuantity == nil {
                observation.dataAbsentReason = Observation.Concept(
                    coding: [
                        Observation.Coding(
                            system: "http://terminology.hl7.org/CodeSystem/data-absent-reason", code: "not-a-number")
                    ])
            }
        }
        if let workout = sample.workout { observation.component = ObservationWriter.components(of: workout) }
        append(observation)
        countGroupLost(of: sample)
    }

    /// Counts a correlation, whose members stand for it. Only a panel says that they belong together.
    mutating func pass(correlation sample: Sample, isPanel: Bool) {
        if !ObservationWriter.isWhole(sample) { report.detailsLost += 1 }
        if isPanel { return }
        countGroupLost(of: sample)
        if sample.group == nil { report.groupsLost += 1 }
    }

    private mutating func countGroupLost(of sample: Sample) {
        guard let name = sample.group else { return }
        let group = SampleGroup(name: name, source: sample.source.identity)
        if groups.insert(group).inserted { report.groupsLost += 1 }
    }

    /// Whether an Observation has a place for everything that a sample has, apart from its group.
    private static func isWhole(_ sample: Sample) -> Bool {
        let source = sample.source
        // A sample that was given no sync identifier has its id as one.
        let hasOwnName = sample.syncIdentifier.map { $0 != sample.id.description } ?? false
        guard sample.metadata.isEmpty, !hasOwnName, sample.version <= 1, sample.timeZone == nil, sample.local.isEmpty,
            sample.count == 1, sample.original == nil, sample.reversion == nil,
            source.bundle.isEmpty, source.version == nil, source.product == nil, source.system == nil
        else { return false }
        if let workout = sample.workout {
            guard workout.events.isEmpty, workout.activities.isEmpty, workout.statistics.isEmpty else { return false }
        }
        return sample.device?.fields.dropFirst().allSatisfy { $0 == nil } ?? true
    }

    /// Appends both values of a blood pressure as one panel.
    mutating func append(systolic: Sample, diastolic: Sample) {
        var panel = observation(of: systolic, ObservationCodes.bloodPressure)
        panel.identifier.append(Observation.Identifier(value: "urn:uuid:\(ObservationWriter.id(of: diastolic))"))
        panel.component = [systolic, diastolic].map { sample in
            Observation.Component(
                code: ObservationCodes.concept(of: sample.type, sample.quantity.unit),
                valueQuantity: ObservationWriter.amount(sample.quantity))
        }
        append(panel)
        if !ObservationWriter.isWhole(diastolic) { report.detailsLost += 1 }
    }

    private mutating func append(_ observation: Observation) {
        report.samples += 1
        page.append(ObservationBundle.Entry(fullUrl: "urn:uuid:\(observation.id)", resource: observation))
    }

    /// The fields that observations of all types have.
    private mutating func observation(of sample: Sample, _ code: Observation.Concept) -> Observation {
        let id = ObservationWriter.id(of: sample)
        var observation = Observation(
            id: id, identifier: [Observation.Identifier(value: "urn:uuid:\(id)")],
            status: sample.version > 1 || sample.original != nil ? "amended" : "final",
            category: ObservationCodes.category(of: sample.type), code: code)
        observation.subject = subject.map { Observation.Reference(reference: $0) }
        if sample.start == sample.end {
            observation.effectiveDateTime = line.timestamp(sample.start)
        } else {
            observation.effectivePeriod = Observation.Period(
                start: line.timestamp(sample.start), end: sample.isOpenEnded ? nil : line.timestamp(sample.end))
        }
        observation.issued = sample.creation.map { line.timestamp($0) }
        let device = text(sample.device?.name.map { "\($0) (\(sample.source.name))" } ?? sample.source.name)
        observation.device = device.isEmpty ? nil : Observation.Reference(display: device)
        if !ObservationWriter.isWhole(sample) { report.detailsLost += 1 }
        return observation
    }

    /// Returns a text without the control characters that FHIR forbids.
    private mutating func text(_ text: String) -> String {
        func isLegal(_ scalar: Unicode.Scalar) -> Bool {
            scalar.value >= 0x20 || [0x09, 0x0A, 0x0D].contains(scalar.value)
        }
        if text.unicodeScalars.allSatisfy(isLegal) { return text }
        let legal = String(String.UnicodeScalarView(text.unicodeScalars.filter(isLegal)))
        report.charactersLost += text.unicodeScalars.count - legal.unicodeScalars.count
        return legal
    }

    private static func id(of sample: Sample) -> String { sample.id.description.lowercased() }

    private static func value(of sample: Sample) -> Observation.Concept {
        let known = sample.categoryCase
        let text = known?.name ?? ExportLine.decimal(sample.quantity.value)
        return Observation.Concept(
            coding: known.map { [Observation.Coding(system: ObservationCodes.healthKit, code: $0.identifier)] },
            text: text)
    }

    /// Returns a quantity with the code of its unit; `nil` if it is no number.
    private static func amount(_ quantity: Quantity) -> Observation.Amount? {
        guard quantity.value.isFinite else { return nil }
        let (code, symbol) = (UnitCode.code(of: quantity.unit), quantity.unit.symbol)
        // HealthKit's percent is a fraction. Moving the point is exact where a product is not.
        let value = symbol == "%" ? Double("\(quantity.value)e2") ?? quantity.value * 100 : quantity.value
        return Observation.Amount(
            value: value, unit: symbol.contains("<") ? code ?? symbol : symbol,
            system: code == nil ? nil : UnitCode.system, code: code)
    }

    private static func components(of workout: Workout) -> [Observation.Component] {
        var components = [
            Observation.Component(
                code: Observation.Concept(text: "activity"),
                valueCodeableConcept: Observation.Concept(
                    coding: [
                        Observation.Coding(
                            system: ObservationCodes.healthKit, code: SampleWriter.name(of: workout.activityType))
                    ], text: workout.activityType.name))
        ]
        for (type, quantity) in [
            (SampleType.activeEnergyBurned, workout.energy), (.distanceWalkingRunning, workout.distance),
            (.swimmingStrokeCount, workout.strokes), (.flightsClimbed, workout.flights),
        ] {
            guard let quantity, let amount = amount(quantity) else { continue }
            // A distance is not always walked.
            let code =
                type == .distanceWalkingRunning
                ? Observation.Concept(text: "distance") : ObservationCodes.concept(of: type, quantity.unit)
            components.append(Observation.Component(code: code, valueQuantity: amount))
        }
        return components
    }
}
