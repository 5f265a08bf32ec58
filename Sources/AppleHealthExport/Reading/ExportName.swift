/// The names of elements and attributes, as bytes.
struct ExportName: Sendable {
    let text: String
    let bytes: [UInt8]

    private init(_ name: String) { (text, bytes) = (name, Array(name.utf8)) }

    static let type = ExportName("type")
    static let sourceName = ExportName("sourceName")
    static let sourceVersion = ExportName("sourceVersion")
    static let device = ExportName("device")
    static let unit = ExportName("unit")
    static let creationDate = ExportName("creationDate")
    static let startDate = ExportName("startDate")
    static let endDate = ExportName("endDate")
    static let value = ExportName("value")
    static let key = ExportName("key")
    static let bpm = ExportName("bpm")
    static let time = ExportName("time")
    static let date = ExportName("date")
    static let duration = ExportName("duration")
    static let durationUnit = ExportName("durationUnit")
    static let workoutActivityType = ExportName("workoutActivityType")
    static let totalDistance = ExportName("totalDistance")
    static let totalDistanceUnit = ExportName("totalDistanceUnit")
    static let totalEnergyBurned = ExportName("totalEnergyBurned")
    static let totalEnergyBurnedUnit = ExportName("totalEnergyBurnedUnit")
    static let totalSwimmingStrokeCount = ExportName("totalSwimmingStrokeCount")
    static let totalSwimmingStrokeCountUnit = ExportName("totalSwimmingStrokeCountUnit")
    static let totalFlightsClimbed = ExportName("totalFlightsClimbed")
    static let totalFlightsClimbedUnit = ExportName("totalFlightsClimbedUnit")
    static let sum = ExportName("sum")
    static let average = ExportName("average")
    static let minimum = ExportName("minimum")
    static let maximum = ExportName("maximum")
    static let uuid = ExportName("uuid")
    static let metadataEntry = ExportName("MetadataEntry")
    static let beats = ExportName("HeartRateVariabilityMetadataList")
    static let beat = ExportName("InstantaneousBeatsPerMinute")
    static let record = ExportName("Record")
    static let workoutEvent = ExportName("WorkoutEvent")
    static let workoutStatistics = ExportName("WorkoutStatistics")
    static let workoutActivity = ExportName("WorkoutActivity")
    static let workoutRoute = ExportName("WorkoutRoute")
    static let fileReference = ExportName("FileReference")
    static let path = ExportName("path")
    static let dateComponents = ExportName("dateComponents")
    static let activeEnergyBurned = ExportName("activeEnergyBurned")
    static let activeEnergyBurnedGoal = ExportName("activeEnergyBurnedGoal")
    static let activeEnergyBurnedUnit = ExportName("activeEnergyBurnedUnit")
    static let appleMoveTime = ExportName("appleMoveTime")
    static let appleMoveTimeGoal = ExportName("appleMoveTimeGoal")
    static let appleExerciseTime = ExportName("appleExerciseTime")
    static let appleExerciseTimeGoal = ExportName("appleExerciseTimeGoal")
    static let appleStandHours = ExportName("appleStandHours")
    static let appleStandHoursGoal = ExportName("appleStandHoursGoal")

    /// The names that elements within a record, workout or correlation have.
    private static let ofRecords: [ExportName] = [
        .metadataEntry, .beats, .beat, .record, .workoutEvent, .workoutStatistics, .workoutActivity, .workoutRoute,
        .fileReference,
    ]

    private static let partsOfWorkouts: [ExportName] = [.workoutEvent, .workoutStatistics, .workoutActivity]

    /// Whether bytes are the name of a part that only workouts have.
    static func isPartOfWorkouts(_ range: Range<Int>, in bytes: borrowing Span<UInt8>) -> Bool {
        for name in partsOfWorkouts where name.bytes.count == range.count {
            if bytes.matches(name.bytes, at: range.lowerBound) { return true }
        }
        return false
    }

    /// Whether bytes are one of these names.
    static func isOfRecords(_ range: Range<Int>, in bytes: borrowing Span<UInt8>) -> Bool {
        for name in ofRecords where name.bytes.count == range.count && bytes.matches(name.bytes, at: range.lowerBound) {
            return true
        }
        return false
    }

    /// Whether this is the name of a node.
    func isName(of node: ExportNode, in bytes: borrowing Span<UInt8>) -> Bool {
        node.name.count == self.bytes.count && bytes.matches(self.bytes, at: node.name.lowerBound)
    }
}
