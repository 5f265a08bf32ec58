import Foundation

/// What the user allows an app to do with a type.
struct Grant: Sendable {
    var sharing: SimulatedDevice.Sharing = .undetermined
    var reading: SimulatedDevice.Reading = .undetermined
}

extension SimulatedDevice {
    /// Whether an app may write a type.
    public enum Sharing: Sendable { case undetermined, denied, granted }

    /// Whether an app may read a type. A date shows samples that start at it or later (A17).
    public enum Reading: Sendable, Hashable { case undetermined, denied, granted, since(Date) }

    /// How the user answers a request.
    public enum Answer: Sendable {
        /// Everything is allowed or denied, or the user cancels the prompt.
        case allow, deny, cancel
        /// Everything is allowed, but reading only from a date onwards.
        case allowSince(Date)
        /// Types by identifier or short name.
        case allowOnly(reading: Set<String>, sharing: Set<String>)

        /// The same answer, with types by their identifiers.
        var withIdentifiers: Answer {
            guard case .allowOnly(let reading, let sharing) = self else { return self }
            return .allowOnly(
                reading: Set(reading.map(KnownType.identifier)), sharing: Set(sharing.map(KnownType.identifier)))
        }

        func reading(_ type: String) -> Reading {
            switch self {
            case .allow: .granted
            case .deny, .cancel: .denied
            case .allowSince(let date): .since(date)
            case .allowOnly(let types, _): types.contains(type) ? .granted : .denied
            }
        }

        func sharing(_ type: String) -> Sharing {
            switch self {
            case .allow, .allowSince: .granted
            case .deny, .cancel: .denied
            case .allowOnly(_, let types): types.contains(type) ? .granted : .denied
            }
        }
    }

    /// Changes what an app may do with a type, as the user does in Settings. The type is given by identifier or short
    /// name; access that is not given stays unchanged.
    public func setAccess(of app: SimulatedApp, to type: String, reading: Reading? = nil, sharing: Sharing? = nil) {
        let type = KnownType.identifier(of: type)
        state.withLock { state in
            var grant = state.grant(app, type)
            grant.reading = reading ?? grant.reading
            grant.sharing = sharing ?? grant.sharing
            state.grants[app.container, default: [:]][type] = grant
        }
    }

    /// Sets how the user answers from now on.
    public func answerRequests(_ answer: Answer) {
        let answer = answer.withIdentifiers
        state.withLock { $0.answer = answer }
    }

    func requestAuthorization(share: Set<HKSampleType>, read: Set<HKObjectType>, for app: SimulatedApp) throws {
        checkRequest(share: share, read: read, for: app)
        try perform(.requestAuthorization) { state in
            let isNew =
                share.contains { state.grant(app, $0.identifier).sharing == .undetermined }
                || read.contains { state.grant(app, $0.identifier).reading == .undetermined }
            if case .cancel = state.answer, isNew {
                throw HKError(.errorUserCanceled, "The user cancelled the request")
            }
            for type in share where state.grant(app, type.identifier).sharing == .undetermined {
                state.grants[app.container, default: [:]][type.identifier, default: Grant()].sharing =
                    state.answer.sharing(type.identifier)
            }
            for type in read where state.grant(app, type.identifier).reading == .undetermined {
                state.grants[app.container, default: [:]][type.identifier, default: Grant()].reading =
                    state.answer.reading(type.identifier)
            }
        }
    }

    private func checkRequest(share: Set<HKSampleType>, read: Set<HKObjectType>, for app: SimulatedApp) {
        if !share.isEmpty, !app.infoKeys.contains(SimulatedApp.writingKey) {
            SimulatedMisuse.found("\(SimulatedApp.writingKey) must be set in the app's Info.plist")
        }
        if !read.isEmpty, !app.infoKeys.contains(SimulatedApp.readingKey) {
            SimulatedMisuse.found("\(SimulatedApp.readingKey) must be set in the app's Info.plist")
        }
        for type in share where !(type.known?.isShareable ?? false) {
            SimulatedMisuse.found("Authorization to share \(type) is disallowed")
        }
        for type in Set(share as Set<HKObjectType>).union(read) where type is HKCorrelationType {
            SimulatedMisuse.found("Authorization is asked for the members of \(type), not for itself")
        }
    }

    func requestStatus(share: Set<HKSampleType>, read: Set<HKObjectType>, for app: SimulatedApp) throws
        -> HKAuthorizationRequestStatus
    {
        checkRequest(share: share, read: read, for: app)
        return try perform(.requestStatus) { state in
            let isNew =
                share.contains { state.grant(app, $0.identifier).sharing == .undetermined }
                || read.contains { state.grant(app, $0.identifier).reading == .undetermined }
            return isNew ? .shouldRequest : .unnecessary
        }
    }

    func sharing(of type: HKObjectType, for app: SimulatedApp) -> HKAuthorizationStatus {
        switch state.withLock({ $0.grant(app, type.identifier).sharing }) {
        case .undetermined: .notDetermined
        case .denied: .sharingDenied
        case .granted: .sharingAuthorized
        }
    }

    func authorizeSaving(_ types: [HKSampleType], by app: SimulatedApp) throws {
        try state.withLock { try $0.authorizeSaving(types, by: app) }
    }
}

extension SimulatedDevice.State {
    func grant(_ app: SimulatedApp, _ type: String) -> Grant { grants[app.container]?[type] ?? Grant() }

    /// Checks the access that a deletion needs: the same as a save, or none (A10). Correlations need no access.
    func authorizeDeleting(_ type: HKSampleType, by app: SimulatedApp) throws {
        if database.options.deletingNeedsSharing { try authorizeSaving([type], by: app) }
    }

    func authorizeSaving(_ types: [HKSampleType], by app: SimulatedApp) throws {
        for type in types where !(type is HKCorrelationType) {
            switch grant(app, type.identifier).sharing {
            case .granted: continue
            case .denied: throw HKError(.errorAuthorizationDenied, "Not authorized to share \(type)")
            case .undetermined: throw HKError(.errorAuthorizationNotDetermined, "Authorization is not determined")
            }
        }
    }

    /// Returns which samples an app sees: its own, and others if reading is granted (A17).
    func visibility(_ type: HKSampleType, for app: SimulatedApp) throws -> @Sendable (HealthRecord) -> Bool {
        let bundle = app.bundle
        if case .correlation(let members) = type.known?.content {
            let readable = members.filter { self.grant(app, $0).reading == .granted }
            return { $0.source == bundle || !readable.isEmpty }
        }
        let grant = grant(app, type.identifier)
        switch grant.reading {
        case .granted: return { _ in true }
        case .since(let date): return { $0.source == bundle || $0.start >= date }
        case .denied: return { $0.source == bundle }
        case .undetermined:
            if grant.sharing == .undetermined {
                throw HKError(.errorAuthorizationNotDetermined, "Authorization is not determined")
            }
            return { $0.source == bundle }
        }
    }
}
