/// A problem that an app's developer must fix before HealthKit can be used.
public enum SetupProblem: String, Sendable, Hashable, CaseIterable, CustomStringConvertible {
    /// HealthKit ends the process of an app that asks for read access without this key.
    case missingReadingText = "NSHealthShareUsageDescription"
    /// HealthKit ends the process of an app that asks for write access without this key.
    case missingWritingText = "NSHealthUpdateUsageDescription"

    public var description: String {
        let purpose = self == .missingReadingText ? "reads" : "writes"
        return "Info.plist lacks \(rawValue): say there why the app \(purpose) health data."
    }
}

extension HealthKitPeer {
    /// Returns what is missing in the app's Info.plist. Show it during development; requests for access throw until it
    /// is fixed.
    public func setupProblems(reading: Bool, writing: Bool) -> [SetupProblem] {
        SetupProblem.allCases.filter { problem in
            (problem == .missingReadingText ? reading : writing) && !hasInfoKey(problem.rawValue)
        }
    }
}
