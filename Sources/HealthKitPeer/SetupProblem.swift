/// Something that an app's developer has to mend before HealthKit can be used.
public enum SetupProblem: String, Sendable, Hashable, CaseIterable, CustomStringConvertible {
    /// HealthKit ends the process of an app that asks to read without it.
    case missingReadingText = "NSHealthShareUsageDescription"
    /// HealthKit ends the process of an app that asks to write without it.
    case missingWritingText = "NSHealthUpdateUsageDescription"

    public var description: String {
        let purpose = self == .missingReadingText ? "reads" : "writes"
        return "Info.plist lacks \(rawValue): say there why the app \(purpose) health data."
    }
}

extension HealthKitPeer {
    /// What is missing in the app's Info.plist. Show it while developing; asking for access throws as long as it is there.
    public func setupProblems(reading: Bool, writing: Bool) -> [SetupProblem] {
        SetupProblem.allCases.filter { problem in
            (problem == .missingReadingText ? reading : writing) && !hasInfoKey(problem.rawValue)
        }
    }
}
