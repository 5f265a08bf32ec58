/// The kind of value that HealthKit has under one of its own metadata keys.
package enum MetadataKind: Sendable {
    case text, truth, number, quantity

    /// Returns the kind of a key; `nil` for a key that is not known to be HealthKit's.
    package init?(key: String) {
        guard let kind = MetadataKind.kinds[key] else { return nil }
        self = kind
    }

    private static let kinds: [String: MetadataKind] = {
        let names: [(MetadataKind, String)] = [
            (.text, "ExternalUUID DeviceSerialNumber DeviceManufacturerName DigitalSignature FoodType TimeZone"),
            (.text, "UDIDeviceIdentifier UDIProductionIdentifier WorkoutBrandName"),
            (
                .truth,
                "WasUserEntered WasTakenInLab CoachedWorkout GroupFitness IndoorWorkout SexualActivityProtectionUsed"
            ),
            (.truth, "MenstrualCycleStart QuantityClampedToLowerBound QuantityClampedToUpperBound"),
            (.number, "BodyTemperatureSensorLocation HeartRateSensorLocation SwimmingLocationType SwimmingStrokeStyle"),
            (.number, "BloodGlucoseMealTime InsulinDeliveryReason VO2MaxTestType HeartRateMotionContext"),
            (.number, "WeatherCondition UserMotionContext DevicePlacementSide WaterSalinity"),
            (.quantity, "ReferenceRangeLowerLimit ReferenceRangeUpperLimit LapLength WeatherTemperature"),
            (.quantity, "WeatherHumidity AverageSpeed MaximumSpeed ElevationAscended ElevationDescended"),
            (.quantity, "AlpineSlopeGrade AverageMETs BarometricPressure"),
        ]
        var kinds: [String: MetadataKind] = [:]
        for (kind, list) in names { for name in list.split(separator: " ") { kinds["HK\(name)"] = kind } }
        // The names of later constants are also their texts.
        let long =
            "HeartRateMotionContext UserMotionContext DevicePlacementSide WaterSalinity BarometricPressure"
            + " QuantityClampedToLowerBound QuantityClampedToUpperBound"
        for name in long.split(separator: " ") { kinds["HKMetadataKey\(name)"] = kinds["HK\(name)"] }
        return kinds
    }()

    /// Returns `true` if a value is of this kind.
    package func takes(_ value: MetadataValue) -> Bool {
        switch (self, value) {
        case (.text, .string), (.truth, .bool), (.number, .number), (.quantity, .quantity): true
        default: false
        }
    }
}
