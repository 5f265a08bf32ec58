/// The document type of an export. What an export writes is valid by it, apart from elements of unknown kinds that an
/// import kept.
enum DocumentType {
    /// Everything before the first element within the root.
    static let head: StaticString = """
        <?xml version="1.0" encoding="UTF-8"?>
        <!DOCTYPE HealthData [
        <!-- HealthKit Export Version: 14 -->
        <!ELEMENT HealthData (ExportDate,HealthKVSettings?,(Record|Correlation|Workout|ActivitySummary)*)>
        <!ATTLIST HealthData locale CDATA #REQUIRED>
        <!ELEMENT ExportDate EMPTY>
        <!ATTLIST ExportDate value CDATA #REQUIRED>
        <!ELEMENT HealthKVSettings EMPTY>
        <!ATTLIST HealthKVSettings value CDATA #REQUIRED>
        <!ELEMENT Record (MetadataEntry|HeartRateVariabilityMetadataList)*>
        <!ATTLIST Record
          type CDATA #REQUIRED
          sourceName CDATA #REQUIRED
          sourceVersion CDATA #IMPLIED
          device CDATA #IMPLIED
          unit CDATA #IMPLIED
          creationDate CDATA #IMPLIED
          startDate CDATA #REQUIRED
          endDate CDATA #REQUIRED
          value CDATA #IMPLIED
        >
        <!ELEMENT Correlation (MetadataEntry|Record)*>
        <!ATTLIST Correlation
          type CDATA #REQUIRED
          sourceName CDATA #REQUIRED
          sourceVersion CDATA #IMPLIED
          device CDATA #IMPLIED
          creationDate CDATA #IMPLIED
          startDate CDATA #REQUIRED
          endDate CDATA #REQUIRED
        >
        <!ELEMENT Workout (MetadataEntry|WorkoutEvent|WorkoutStatistics|WorkoutActivity|WorkoutRoute
          |HeartRateVariabilityMetadataList)*>
        <!ATTLIST Workout
          workoutActivityType CDATA #REQUIRED
          duration CDATA #IMPLIED
          durationUnit CDATA #IMPLIED
          totalDistance CDATA #IMPLIED
          totalDistanceUnit CDATA #IMPLIED
          totalEnergyBurned CDATA #IMPLIED
          totalEnergyBurnedUnit CDATA #IMPLIED
          totalSwimmingStrokeCount CDATA #IMPLIED
          totalSwimmingStrokeCountUnit CDATA #IMPLIED
          totalFlightsClimbed CDATA #IMPLIED
          totalFlightsClimbedUnit CDATA #IMPLIED
          sourceName CDATA #REQUIRED
          sourceVersion CDATA #IMPLIED
          device CDATA #IMPLIED
          creationDate CDATA #IMPLIED
          startDate CDATA #REQUIRED
          endDate CDATA #REQUIRED
        >
        <!ELEMENT WorkoutActivity (MetadataEntry|WorkoutEvent|WorkoutStatistics)*>
        <!ATTLIST WorkoutActivity
          uuid CDATA #REQUIRED
          workoutActivityType CDATA #IMPLIED
          startDate CDATA #REQUIRED
          endDate CDATA #IMPLIED
          duration CDATA #IMPLIED
          durationUnit CDATA #IMPLIED
        >
        <!ELEMENT WorkoutRoute (MetadataEntry|FileReference)*>
        <!ATTLIST WorkoutRoute
          sourceName CDATA #REQUIRED
          sourceVersion CDATA #IMPLIED
          device CDATA #IMPLIED
          creationDate CDATA #IMPLIED
          startDate CDATA #REQUIRED
          endDate CDATA #REQUIRED
        >
        <!ELEMENT FileReference EMPTY>
        <!ATTLIST FileReference path CDATA #REQUIRED>
        <!ELEMENT WorkoutEvent (MetadataEntry*)>
        <!ATTLIST WorkoutEvent
          type CDATA #REQUIRED
          date CDATA #REQUIRED
          duration CDATA #IMPLIED
          durationUnit CDATA #IMPLIED
        >
        <!ELEMENT WorkoutStatistics EMPTY>
        <!ATTLIST WorkoutStatistics
          type CDATA #REQUIRED
          startDate CDATA #REQUIRED
          endDate CDATA #REQUIRED
          average CDATA #IMPLIED
          minimum CDATA #IMPLIED
          maximum CDATA #IMPLIED
          sum CDATA #IMPLIED
          unit CDATA #IMPLIED
        >
        <!ELEMENT HeartRateVariabilityMetadataList (InstantaneousBeatsPerMinute*)>
        <!ELEMENT InstantaneousBeatsPerMinute EMPTY>
        <!ATTLIST InstantaneousBeatsPerMinute bpm CDATA #REQUIRED time CDATA #REQUIRED>
        <!ELEMENT ActivitySummary EMPTY>
        <!ATTLIST ActivitySummary
          dateComponents CDATA #IMPLIED
          activeEnergyBurned CDATA #IMPLIED
          activeEnergyBurnedGoal CDATA #IMPLIED
          activeEnergyBurnedUnit CDATA #IMPLIED
          appleMoveTime CDATA #IMPLIED
          appleMoveTimeGoal CDATA #IMPLIED
          appleExerciseTime CDATA #IMPLIED
          appleExerciseTimeGoal CDATA #IMPLIED
          appleStandHours CDATA #IMPLIED
          appleStandHoursGoal CDATA #IMPLIED
        >
        <!ELEMENT MetadataEntry EMPTY>
        <!ATTLIST MetadataEntry key CDATA #REQUIRED value CDATA #REQUIRED>
        ]>
        <HealthData locale="en_US">

        """
}
