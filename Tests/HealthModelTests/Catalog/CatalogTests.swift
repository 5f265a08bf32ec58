import Foundation
import Testing

@testable import HealthModel

/// The catalog of HealthKit's types.
@Suite struct CatalogTests {
    @Test(
        "Every type of HealthKit up to iOS 18 has its unit, its aggregation and a number on disk that never changes"
    )
    func everything() throws {
        let lines = SampleType.catalog.map { type in
            "\(type.catalogNumber!) \(type.identifier) \(type.canonicalUnit!) \(type.aggregation?.rawValue ?? "-") "
                + "\(type.isShareable ? "shareable" : "-") \(type.displayName)"
        }
        let rows = try Fixture.rows("types.txt").map { $0[0] }
        #expect(lines == rows)
        #expect(SampleType.catalog.count { $0.kind == .quantity } == 120)
        #expect(SampleType.catalog.count { $0.kind == .category } == 68)
    }

    @Test("Short names lead to their types, and a type is found by identifier and by number")
    func names() {
        for type in SampleType.catalog {
            #expect(SampleType(type.shortName) == type)
            #expect(SampleType(type.identifier) == type)
            #expect(SampleType(catalogNumber: type.catalogNumber!) == type)
        }
        #expect(SampleType("heartRate") == .heartRate && SampleType("vo2Max") == .vo2Max)
        #expect(SampleType("uvExposure") == .uvExposure && SampleType("workout") == .workout)
        #expect(SampleType("sleepAnalysis").kind == .category && SampleType("food").kind == .correlation)
    }

    @Test("The audio exposure event has HealthKit's identifier and is found by its constant's name; 122 stays reserved")
    func audioExposure() throws {
        let identifier = "HKCategoryTypeIdentifierAudioExposureEvent"
        #expect(SampleType.environmentalAudioExposureEvent.identifier == identifier)
        for name in [
            "HKCategoryTypeIdentifierEnvironmentalAudioExposureEvent", "environmentalAudioExposureEvent",
            "audioExposureEvent", identifier,
        ] {
            #expect(SampleType(name) == .environmentalAudioExposureEvent, "\(name)")
            let read = try JSONDecoder().decode([SampleType].self, from: Data("[\"\(name)\"]".utf8))
            #expect(read == [.environmentalAudioExposureEvent], "\(name)")
        }
        #expect(SampleType.environmentalAudioExposureEvent.catalogNumber == 189)
        let kept = try #require(SampleType(catalogNumber: 122))
        #expect(kept.catalogNumber == 122 && kept.kind == .category && !SampleType.catalog.contains(kept))
    }

    @Test("A type that the catalog does not know keeps its identifier, and its prefix determines its kind")
    func unknown() {
        let future = SampleType("HKCategoryTypeIdentifierFuture")
        #expect(future.identifier == "HKCategoryTypeIdentifierFuture" && future.kind == .category)
        #expect(future.canonicalUnit == nil && !future.isShareable && future.displayName == future.identifier)
        #expect(SampleType("org.example.mood").kind == .other)
        #expect(SampleType("HKDataTypeStateOfMind").kind == .other)
    }

    @Test("The catalog has all types that the seed apps use, and those that an app writes are shareable")
    func seeds() {
        let read = [
            "BodyMass", "BodyFatPercentage", "LeanBodyMass", "ActiveEnergyBurned", "BasalEnergyBurned", "StepCount",
        ]
        let written = [
            "DietaryEnergyConsumed", "DietaryProtein", "DietaryCarbohydrates", "DietaryFatTotal", "DietaryFiber",
            "DietarySugar", "DietarySodium", "DietaryCholesterol", "DietaryFatSaturated", "DietaryWater", "BodyMass",
        ]
        for name in read + written + ["DistanceWalkingRunning"] {
            #expect(SampleType("HKQuantityTypeIdentifier" + name).catalogNumber != nil, "\(name)")
        }
        for name in written { #expect(SampleType("HKQuantityTypeIdentifier" + name).isShareable, "\(name)") }
        for type in [
            SampleType.appleExerciseTime, .appleStandTime, .nikeFuel, .walkingHeartRateAverage, .appleStandHour,
            .walkingAsymmetryPercentage,
        ] {
            #expect(!type.isShareable, "\(type)")
        }
        #expect(SampleType.workout.catalogNumber != nil && SampleType.food.catalogNumber != nil)
    }
}
