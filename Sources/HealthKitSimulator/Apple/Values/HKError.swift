import Foundation

public struct HKError: Error, Equatable, Sendable {
    public let code: Code
    /// What the error was about. Apple keeps such information in `userInfo`.
    let what: String

    init(_ code: Code, _ what: String) {
        self.code = code
        self.what = what
    }

    public enum Code: Int, Sendable {
        case unknownError = 0
        case errorHealthDataUnavailable, errorHealthDataRestricted, errorInvalidArgument, errorAuthorizationDenied
        case errorAuthorizationNotDetermined, errorDatabaseInaccessible, errorUserCanceled
        case errorAnotherWorkoutSessionStarted, errorUserExitedWorkoutSession, errorRequiredAuthorizationDenied
        case errorNoData, errorWorkoutActivityNotAllowed, errorDataSizeExceeded
        case errorBackgroundWorkoutSessionNotAllowed
    }
}

public enum HKAuthorizationStatus: Int, Sendable {
    case notDetermined = 0
    case sharingDenied, sharingAuthorized
}

public enum HKAuthorizationRequestStatus: Int, Sendable {
    case unknown = 0
    case shouldRequest, unnecessary
}

public enum HKUpdateFrequency: Int, Sendable {
    case immediate = 1
    case hourly, daily, weekly
}
