import HealthKV

/// What to sync with one peer.
///
/// ```swift
/// var plan = SyncPlan.weightTracker
/// plan.types[.bodyFatPercentage] = TypePlan(.pull, horizon: .days(365))
/// ```
public struct SyncPlan: Sendable, Hashable {
    /// The plan of each type.
    public var types: [SampleType: TypePlan]
    /// The plan of all types without a plan of their own, for peers with one feed; `nil` leaves those types out.
    public var others: TypePlan?
    /// Types that the user is asked for first; the others follow with ``AuthorizationStage/all``.
    public var onboarding: Set<SampleType>
    /// Onboarding types for which the user is first asked for read access only, although they are also sent.
    public var onboardingReads: Set<SampleType> = []
    /// The metadata key that identifies samples which this app wrote before it used sync identifiers (SEMANTICS C21).
    public var adoptionKey: String?
    /// Messages to show the user instead of the usual ones.
    public var messages: [SyncIssue.Code: String]
    /// Messages to show the user for a failed call whose cause has no message of its own; the exact failure is
    /// appended. Without a message for writing, samples that could not be saved are visible only in the queue
    /// (``issue(of:)``).
    public var failureMessages: [SyncIssue.Call: String] = [:]
    /// Messages to show the user with notices (``SyncNotice/message``).
    public var noticeMessages: [SyncNotice.Code: String] = [:]

    /// Creates a plan of some types.
    public init(
        types: [SampleType: TypePlan], others: TypePlan? = nil, onboarding: Set<SampleType> = [],
        adoptionKey: String? = nil, messages: [SyncIssue.Code: String] = [:]
    ) {
        self.types = types
        self.others = others
        self.onboarding = onboarding
        self.adoptionKey = adoptionKey
        self.messages = messages
    }

    /// The same plan, but for types whose whole history is imported, the user decides about the history first
    /// (``TypePlan/Horizon/ask``).
    public var askingForHistory: SyncPlan {
        var plan = self
        for (type, item) in types where item.pulls && item.horizon == .all { plan.types[type]?.horizon = .ask }
        return plan
    }

    /// Ends the process if a plan of a type makes no sense.
    func check() {
        for (type, item) in types { item.check("\(type)") }
        others?.check("the other types")
    }

    /// Returns the plan of a type, or `nil` if the type is not synced.
    public func plan(of type: SampleType) -> TypePlan? { types[type] ?? others }

    /// Returns what to tell the user of an operation that failed or that the peer refused for good; `nil` if it only
    /// waits.
    ///
    /// ```swift
    /// let plan = SyncPlan.weightTracker
    /// let operations = try store.read { try $0.pending(for: "health") }
    /// for issue in operations.compactMap({ plan.issue(of: $0) }) { print(issue.message) }
    /// ```
    public func issue(of operation: PendingOperation) -> SyncIssue? {
        if operation.state == .quarantined { return SyncIssue(.invalid, operation.reason, plan: self, in: .write) }
        guard operation.attempts > 0, ParkReason(rawValue: operation.reason) == nil else { return nil }
        return SyncIssue(.delayed, operation.reason, plan: self, in: .write)
    }

    /// Types that are pulled, each from a feed of its own.
    var pulled: Set<SampleType> { Set(types.filter { $0.value.pulls }.keys) }

    /// Types that are pushed; `nil` for all.
    var pushed: Set<SampleType>? {
        if let others, others.pushes { return nil }
        return Set(types.filter { $0.value.pushes }.keys)
    }

    /// Whether any type is sent as soon as it changes.
    var pushesOnChange: Bool {
        (types.values + [others].compactMap(\.self)).contains { $0.pushes && $0.triggers.contains(.onChange) }
    }

    /// Returns the types with a trigger.
    func types(with trigger: TypePlan.Triggers) -> Set<SampleType> {
        var found = Set(types.filter { $0.value.triggers.contains(trigger) }.keys)
        if let others, others.triggers.contains(trigger) { found.insert(.every) }
        return found
    }
}

/// How much the user is asked for at once.
public enum AuthorizationStage: String, Sendable, Hashable, CaseIterable {
    /// The few types that the app needs immediately.
    case onboarding
    /// All types of the plan.
    case all
}

extension SyncPlan {
    /// Returns the access to ask for at a stage. A plan that names no types for the onboarding asks for all.
    public func request(_ stage: AuthorizationStage) -> AuthorizationRequest {
        let asked = stage == .all || onboarding.isEmpty ? types : types.filter { onboarding.contains($0.key) }
        let onlyRead = stage == .onboarding ? onboardingReads : []
        return AuthorizationRequest(
            read: Set(asked.filter { $0.value.pulls }.keys),
            write: Set(asked.filter { $0.value.pushes }.keys).subtracting(onlyRead))
    }

    /// Everything in a store, in both directions: for backups and second devices.
    public static let everything = SyncPlan(types: [:], others: TypePlan(.both))

    /// A weight tracker: weight in both directions, with all history.
    public static let weightTracker = SyncPlan(types: [.bodyMass: TypePlan(.both)])

    /// A walking app: steps and distance of thirty days, read only, with the peer's own daily totals. The samples are
    /// removed when access ends.
    public static let walkingApp: SyncPlan = {
        let walking = TypePlan(
            .pull, triggers: [.foreground], horizon: .days(30), departure: .purge, keepsDailyTotals: true)
        var plan = SyncPlan(
            types: [.stepCount: walking, .distanceWalkingRunning: walking],
            messages: [
                .unavailable:
                    "Automatic step tracking is not available on this device. You can enter steps manually.",
                .accessDenied:
                    "Health access is disabled. You can enter steps manually or enable Health access in Settings.",
                .accessRevoked:
                    "Health access was disabled. Your synced health data will be removed. "
                    + "You can continue with manual entry.",
            ])
        plan.noticeMessages[.readingRevoked] =
            "Health access has been disabled. Your synced health data will be removed."
        return plan
    }()

    /// A diet app: sends nutrition, reads energy and workouts, and syncs weight and water in both directions.
    public static let dietApp: SyncPlan = {
        var types: [SampleType: TypePlan] = [
            .bodyMass: TypePlan(.both), .dietaryWater: TypePlan(.both),
            .activeEnergyBurned: TypePlan(.pull, triggers: [.onChange, .foreground, .hourly]),
            .basalEnergyBurned: TypePlan(.pull, triggers: [.foreground, .hourly]),
            .workout: TypePlan(.pull, triggers: [.foreground]),
        ]
        for type: SampleType in [.bodyFatPercentage, .leanBodyMass, .stepCount] {
            types[type] = TypePlan(.pull, triggers: [.foreground])
        }
        let nutrients: [SampleType] = [
            .dietaryEnergyConsumed, .dietaryProtein, .dietaryCarbohydrates, .dietaryFatTotal, .dietaryFiber,
            .dietarySugar, .dietarySodium, .dietaryCholesterol, .dietaryFatSaturated,
        ]
        for type in nutrients { types[type] = TypePlan(.push, triggers: .onChange) }
        var plan = SyncPlan(
            types: types,
            onboarding: [
                .bodyMass, .activeEnergyBurned, .workout, .dietaryEnergyConsumed, .dietaryProtein,
                .dietaryCarbohydrates, .dietaryFatTotal,
            ], adoptionKey: "DietAppLogId",
            messages: [
                .unavailable: "HealthKit is not available on this device",
                .accessNotDetermined: "HealthKit access has not been authorized",
                .accessDenied: "HealthKit access has not been authorized",
            ])
        plan.onboardingReads = [.bodyMass]
        plan.failureMessages = [.read: "Failed to query HealthKit", .write: "Failed to save to HealthKit"]
        return plan
    }()
}
