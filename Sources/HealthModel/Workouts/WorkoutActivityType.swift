/// The activity of a workout, by HealthKit's number; the set is open.
///
/// ```swift
/// assert(WorkoutActivityType.functionalStrengthTraining.displayName == "Strength Training")
/// assert(WorkoutActivityType("yoga") == .yoga)
/// ```
public struct WorkoutActivityType: RawRepresentable, Hashable, Sendable {
    /// HealthKit's number.
    public let rawValue: UInt32
    /// Creates the activity with HealthKit's number.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// Creates the activity of a name such as `running`, or of HealthKit's constant `HKWorkoutActivityTypeRunning`.
    public init?(_ name: String) {
        let bare = name.hasPrefix(Self.prefix) ? Self.lowered(name.dropFirst(Self.prefix.count)) : name
        guard let number = Self.numbers[bare] else { return nil }
        self.init(rawValue: number)
    }

    /// The name, such as `running`; `nil` for an unknown number.
    public var name: String? { Self.names[rawValue] }

    /// A name for people, in English; `Workout` for an unknown activity.
    public var displayName: String {
        if self == .functionalStrengthTraining { return "Strength Training" }
        guard self != .other, let name else { return "Workout" }
        var words = ""
        for character in name {
            if character.isUppercase { words.append(" ") }
            words.append(words.isEmpty ? Character(character.uppercased()) : character)
        }
        return words
    }

    private static let prefix = "HKWorkoutActivityType"
    private static func lowered(_ text: Substring) -> String { text.prefix(1).lowercased() + text.dropFirst() }
    private static let names = Dictionary(uniqueKeysWithValues: all.map { ($0.1.rawValue, $0.0) })
    private static let numbers = Dictionary(uniqueKeysWithValues: all.map { ($0.0, $0.1.rawValue) })
}

extension WorkoutActivityType: Codable {
    /// Reads the name, or the number of an activity without a name.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let number = try? container.decode(UInt32.self) {
            self.init(rawValue: number)
            return
        }
        guard let known = WorkoutActivityType(try container.decode(String.self)) else {
            throw ModelError.unknownActivity
        }
        self = known
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        if let name { try container.encode(name) } else { try container.encode(rawValue) }
    }
}

extension WorkoutActivityType {
    /// American football.
    public static let americanFootball = WorkoutActivityType(rawValue: 1)
    /// Archery.
    public static let archery = WorkoutActivityType(rawValue: 2)
    /// Australian football.
    public static let australianFootball = WorkoutActivityType(rawValue: 3)
    /// Badminton.
    public static let badminton = WorkoutActivityType(rawValue: 4)
    /// Baseball.
    public static let baseball = WorkoutActivityType(rawValue: 5)
    /// Basketball.
    public static let basketball = WorkoutActivityType(rawValue: 6)
    /// Bowling.
    public static let bowling = WorkoutActivityType(rawValue: 7)
    /// Boxing.
    public static let boxing = WorkoutActivityType(rawValue: 8)
    /// Climbing.
    public static let climbing = WorkoutActivityType(rawValue: 9)
    /// Cricket.
    public static let cricket = WorkoutActivityType(rawValue: 10)
    /// Cross training.
    public static let crossTraining = WorkoutActivityType(rawValue: 11)
    /// Curling.
    public static let curling = WorkoutActivityType(rawValue: 12)
    /// Cycling.
    public static let cycling = WorkoutActivityType(rawValue: 13)
    /// Dance.
    public static let dance = WorkoutActivityType(rawValue: 14)
    /// Dance inspired training.
    public static let danceInspiredTraining = WorkoutActivityType(rawValue: 15)
    /// Elliptical.
    public static let elliptical = WorkoutActivityType(rawValue: 16)
    /// Equestrian sports.
    public static let equestrianSports = WorkoutActivityType(rawValue: 17)
    /// Fencing.
    public static let fencing = WorkoutActivityType(rawValue: 18)
    /// Fishing.
    public static let fishing = WorkoutActivityType(rawValue: 19)
    /// Functional strength training.
    public static let functionalStrengthTraining = WorkoutActivityType(rawValue: 20)
    /// Golf.
    public static let golf = WorkoutActivityType(rawValue: 21)
    /// Gymnastics.
    public static let gymnastics = WorkoutActivityType(rawValue: 22)
    /// Handball.
    public static let handball = WorkoutActivityType(rawValue: 23)
    /// Hiking.
    public static let hiking = WorkoutActivityType(rawValue: 24)
    /// Hockey.
    public static let hockey = WorkoutActivityType(rawValue: 25)
    /// Hunting.
    public static let hunting = WorkoutActivityType(rawValue: 26)
    /// Lacrosse.
    public static let lacrosse = WorkoutActivityType(rawValue: 27)
    /// Martial arts.
    public static let martialArts = WorkoutActivityType(rawValue: 28)
    /// Mind and body.
    public static let mindAndBody = WorkoutActivityType(rawValue: 29)
    /// Mixed metabolic cardio training.
    public static let mixedMetabolicCardioTraining = WorkoutActivityType(rawValue: 30)
    /// Paddle sports.
    public static let paddleSports = WorkoutActivityType(rawValue: 31)
    /// Play.
    public static let play = WorkoutActivityType(rawValue: 32)
    /// Preparation and recovery.
    public static let preparationAndRecovery = WorkoutActivityType(rawValue: 33)
    /// Racquetball.
    public static let racquetball = WorkoutActivityType(rawValue: 34)
    /// Rowing.
    public static let rowing = WorkoutActivityType(rawValue: 35)
    /// Rugby.
    public static let rugby = WorkoutActivityType(rawValue: 36)
    /// Running.
    public static let running = WorkoutActivityType(rawValue: 37)
    /// Sailing.
    public static let sailing = WorkoutActivityType(rawValue: 38)
    /// Skating sports.
    public static let skatingSports = WorkoutActivityType(rawValue: 39)
    /// Snow sports.
    public static let snowSports = WorkoutActivityType(rawValue: 40)
    /// Soccer.
    public static let soccer = WorkoutActivityType(rawValue: 41)
    /// Softball.
    public static let softball = WorkoutActivityType(rawValue: 42)
    /// Squash.
    public static let squash = WorkoutActivityType(rawValue: 43)
    /// Stair climbing.
    public static let stairClimbing = WorkoutActivityType(rawValue: 44)
    /// Surfing sports.
    public static let surfingSports = WorkoutActivityType(rawValue: 45)
    /// Swimming.
    public static let swimming = WorkoutActivityType(rawValue: 46)
    /// Table tennis.
    public static let tableTennis = WorkoutActivityType(rawValue: 47)
    /// Tennis.
    public static let tennis = WorkoutActivityType(rawValue: 48)
    /// Track and field.
    public static let trackAndField = WorkoutActivityType(rawValue: 49)
    /// Traditional strength training.
    public static let traditionalStrengthTraining = WorkoutActivityType(rawValue: 50)
    /// Volleyball.
    public static let volleyball = WorkoutActivityType(rawValue: 51)
    /// Walking.
    public static let walking = WorkoutActivityType(rawValue: 52)
    /// Water fitness.
    public static let waterFitness = WorkoutActivityType(rawValue: 53)
    /// Water polo.
    public static let waterPolo = WorkoutActivityType(rawValue: 54)
    /// Water sports.
    public static let waterSports = WorkoutActivityType(rawValue: 55)
    /// Wrestling.
    public static let wrestling = WorkoutActivityType(rawValue: 56)
    /// Yoga.
    public static let yoga = WorkoutActivityType(rawValue: 57)
    /// Barre.
    public static let barre = WorkoutActivityType(rawValue: 58)
    /// Core training.
    public static let coreTraining = WorkoutActivityType(rawValue: 59)
    /// Cross country skiing.
    public static let crossCountrySkiing = WorkoutActivityType(rawValue: 60)
    /// Downhill skiing.
    public static let downhillSkiing = WorkoutActivityType(rawValue: 61)
    /// Flexibility.
    public static let flexibility = WorkoutActivityType(rawValue: 62)
    /// High intensity interval training.
    public static let highIntensityIntervalTraining = WorkoutActivityType(rawValue: 63)
    /// Jump rope.
    public static let jumpRope = WorkoutActivityType(rawValue: 64)
    /// Kickboxing.
    public static let kickboxing = WorkoutActivityType(rawValue: 65)
    /// Pilates.
    public static let pilates = WorkoutActivityType(rawValue: 66)
    /// Snowboarding.
    public static let snowboarding = WorkoutActivityType(rawValue: 67)
    /// Stairs.
    public static let stairs = WorkoutActivityType(rawValue: 68)
    /// Step training.
    public static let stepTraining = WorkoutActivityType(rawValue: 69)
    /// Wheelchair walk pace.
    public static let wheelchairWalkPace = WorkoutActivityType(rawValue: 70)
    /// Wheelchair run pace.
    public static let wheelchairRunPace = WorkoutActivityType(rawValue: 71)
    /// Tai chi.
    public static let taiChi = WorkoutActivityType(rawValue: 72)
    /// Mixed cardio.
    public static let mixedCardio = WorkoutActivityType(rawValue: 73)
    /// Hand cycling.
    public static let handCycling = WorkoutActivityType(rawValue: 74)
    /// Disc sports.
    public static let discSports = WorkoutActivityType(rawValue: 75)
    /// Fitness gaming.
    public static let fitnessGaming = WorkoutActivityType(rawValue: 76)
    /// Cardio dance.
    public static let cardioDance = WorkoutActivityType(rawValue: 77)
    /// Social dance.
    public static let socialDance = WorkoutActivityType(rawValue: 78)
    /// Pickleball.
    public static let pickleball = WorkoutActivityType(rawValue: 79)
    /// Cooldown.
    public static let cooldown = WorkoutActivityType(rawValue: 80)
    /// Swim bike run.
    public static let swimBikeRun = WorkoutActivityType(rawValue: 82)
    /// Transition.
    public static let transition = WorkoutActivityType(rawValue: 83)
    /// Underwater diving.
    public static let underwaterDiving = WorkoutActivityType(rawValue: 84)
    /// An activity without its own kind.
    public static let other = WorkoutActivityType(rawValue: 3_000)

    /// All activities of HealthKit in iOS 18.
    static let all: [(String, WorkoutActivityType)] = [
        ("americanFootball", .americanFootball), ("archery", .archery), ("australianFootball", .australianFootball),
        ("badminton", .badminton), ("baseball", .baseball), ("basketball", .basketball), ("bowling", .bowling),
        ("boxing", .boxing), ("climbing", .climbing), ("cricket", .cricket), ("crossTraining", .crossTraining),
        ("curling", .curling), ("cycling", .cycling), ("dance", .dance),
        ("danceInspiredTraining", .danceInspiredTraining), ("elliptical", .elliptical),
        ("equestrianSports", .equestrianSports), ("fencing", .fencing), ("fishing", .fishing),
        ("functionalStrengthTraining", .functionalStrengthTraining), ("golf", .golf), ("gymnastics", .gymnastics),
        ("handball", .handball), ("hiking", .hiking), ("hockey", .hockey), ("hunting", .hunting),
        ("lacrosse", .lacrosse), ("martialArts", .martialArts), ("mindAndBody", .mindAndBody),
        ("mixedMetabolicCardioTraining", .mixedMetabolicCardioTraining), ("paddleSports", .paddleSports),
        ("play", .play), ("preparationAndRecovery", .preparationAndRecovery), ("racquetball", .racquetball),
        ("rowing", .rowing), ("rugby", .rugby), ("running", .running), ("sailing", .sailing),
        ("skatingSports", .skatingSports), ("snowSports", .snowSports), ("soccer", .soccer), ("softball", .softball),
        ("squash", .squash), ("stairClimbing", .stairClimbing), ("surfingSports", .surfingSports),
        ("swimming", .swimming), ("tableTennis", .tableTennis), ("tennis", .tennis),
        ("trackAndField", .trackAndField), ("traditionalStrengthTraining", .traditionalStrengthTraining),
        ("volleyball", .volleyball), ("walking", .walking), ("waterFitness", .waterFitness),
        ("waterPolo", .waterPolo), ("waterSports", .waterSports), ("wrestling", .wrestling), ("yoga", .yoga),
        ("barre", .barre), ("coreTraining", .coreTraining), ("crossCountrySkiing", .crossCountrySkiing),
        ("downhillSkiing", .downhillSkiing), ("flexibility", .flexibility),
        ("highIntensityIntervalTraining", .highIntensityIntervalTraining), ("jumpRope", .jumpRope),
        ("kickboxing", .kickboxing), ("pilates", .pilates), ("snowboarding", .snowboarding), ("stairs", .stairs),
        ("stepTraining", .stepTraining), ("wheelchairWalkPace", .wheelchairWalkPace),
        ("wheelchairRunPace", .wheelchairRunPace), ("taiChi", .taiChi), ("mixedCardio", .mixedCardio),
        ("handCycling", .handCycling), ("discSports", .discSports), ("fitnessGaming", .fitnessGaming),
        ("cardioDance", .cardioDance), ("socialDance", .socialDance), ("pickleball", .pickleball),
        ("cooldown", .cooldown), ("swimBikeRun", .swimBikeRun), ("transition", .transition),
        ("underwaterDiving", .underwaterDiving), ("other", .other),
    ]
}
