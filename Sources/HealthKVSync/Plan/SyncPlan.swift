import HealthKV

/// What is synced with one peer.
///
/// ```swift
/// var plan = SyncPlan.weightTracker
/// plan.types[.bodyFatPercentage] = TypePlan(.pull, horizon: .days(365))
/// ```
public struct SyncPlan: Sendable, Hashable {
    /// The plan of each type.
    public var types: [SampleType: TypePlan]
    /// The plan of all types that have none of their own, for peers with one feed; `nil` leaves them out.
    public var others: TypePlan?
    /// Types that the user is asked for at first; the others follow with ``AuthorizationStage/all``.
    public var onboarding: Set<SampleType>
    /// Those of them that the user is only asked to let be read at first, though they are sent too.
    public var onboardingReads: Set<SampleType> = []
    /// The metadata key by which samples are known again that this app wrote before it used sync identifiers (SEMANTICS C21).
    public var adoptionKey: String?
    /// What to tell the user in place of the usual messages.
    public var messages: [SyncIssue.Code: String]
    /// What to tell the user where a call failed for no reason that has a message of its own; what exactly failed is added to it. Without one for
    /// writing, what could not be saved is only in the queue.
    public var failureMessages: [SyncIssue.Call: String] = [:]
    /// What to tell the user with a notice (``SyncNotice/message``).
    public var noticeMessages: [SyncNotice.Code: String] = [:]

    /// A plan of some types.
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

    /// The plan, with the history of whatever is imported whole left to the user (``TypePlan/Horizon/ask``).
    public var askingForHistory: SyncPlan {
        var plan = self
        for (type, item) in types where item.pulls && item.horizon == .all { plan.types[type]?.horizon = .ask }
        return plan
    }

    /// The plan of a type; `nil` when it is not synced.
    public func plan(of type: SampleType) -> TypePlan? { types[type] ?? others }

    /// Types that are pulled, each in a feed of its own.
    var pulled: Set<SampleType> { Set(types.filter { $0.value.pulls }.keys) }

    /// Types that are pushed; `nil` for all.
    var pushed: Set<SampleType>? {
        if let others, others.pushes { return nil }
        return Set(types.filter { $0.value.pushes }.keys)
    }

    /// Whether anything is sent as soon as it changes.
    var pushesOnChange: Bool {
        (types.values + [others].compactMap(\.self)).contains { $0.pushes && $0.triggers.contains(.onChange) }
    }

    /// Types with a trigger.
    func types(with trigger: TypePlan.Triggers) -> Set<SampleType> {
        var found = Set(types.filter { $0.value.triggers.contains(trigger) }.keys)
        if let others, others.triggers.contains(trigger) { found.insert(.every) }
        return found
    }
}

/// How much the user is asked for at once.
public enum AuthorizationStage: String, Sendable, Hashable, CaseIterable {
    /// The few types that the app needs at once.
    case onboarding
    /// All types of the plan.
    case all
}

extension SyncPlan {
    /// What is asked for at a stage. A plan that names no types for the onboarding asks for all.
    public func request(_ stage: AuthorizationStage) -> AuthorizationRequest {
        let asked = stage == .all || onboarding.isEmpty ? types : types.filter { onboarding.contains($0.key) }
        let onlyRead = stage == .onboarding ? onboardingReads : []
        return AuthorizationRequest(
            read: Set(asked.filter { $0.value.pulls }.keys),
            write: Set(asked.filter { $0.value.pushes }.keys).subtracting(onlyRead))
    }

    /// Everything of a store, both ways: for backups and second devices.
    public static let everything = SyncPlan(types: [:], others: TypePlan(.both))

    /// A weight tracker: weight both ways, all of its history.
    public static let weightTracker = SyncPlan(types: [.bodyMass: TypePlan(.both)])

    /// A walking app: steps and distance of thirty days, read only, with the peer's own daily totals; gone when access goes.
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

    /// A diet app: nutrition out, energy and workouts in, weight and water both ways.
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
            ])
        plan.onboardingReads = [.bodyMass]
        plan.failureMessages = [.read: "Failed to query HealthKit", .write: "Failed to save to HealthKit"]
        return plan
    }()
}
