import Foundation
import HealthKV
import Histories

/// A small fixed piece of work for each hot path, for `tools/guard`, which counts its instructions.
///
///     HotPaths prepare FOLDER           makes the stores that the other works begin with
///     HotPaths WORK FOLDER ROUNDS    does a work; with 0 rounds all but the work, so the difference is the work
///     HotPaths list                  names the works, the units of each in a round, and its store in the folder
///
/// With `HEALTHKV_PLANT` set each tenth operation is done twice: the slow-down that the guard has to catch.
@main
enum HotPaths {
    static let isPlanted = ProcessInfo.processInfo.environment["HEALTHKV_PLANT"] != nil

    static func main() {
        do {
            let arguments = CommandLine.arguments
            if arguments.count == 2, arguments[1] == "list" {
                for path in HotPath.allCases { print(path.rawValue, path.rounds, path.units, path.store) }
            } else if arguments.count == 3, arguments[1] == "prepare" {
                try prepare(arguments[2])
            } else if arguments.count == 4, let path = HotPath(rawValue: arguments[1]), let rounds = Int(arguments[3]) {
                try path.run(arguments[2], rounds)
            } else {
                throw WrongArguments()
            }
        } catch {
            FileHandle.standardError.write(Data("HotPaths: \(error)\n".utf8))
            exit(1)
        }
    }

    struct WrongArguments: Error {}

    /// Upkeep would begin by the clock; here it is asked for.
    static func open(_ folder: String) throws -> SampleStore {
        var options = SampleStore.Options()
        options.source = Source(bundle: "app.example.guard", name: "Guard")
        options.maintainsWhenIdle = false
        options.mapSize = 1 << 30
        return try SampleStore.open(at: folder, options: options)
    }

    static func prepare(_ folder: String) throws {
        for (name, history) in [(HotPath.usual, HotPath.history), (HotPath.dense, HotPath.denseHistory)] {
            let store = try open(folder + "/" + name)
            for batch in history { try store.importBatch(batch) }
            while try store.maintain(budget: .seconds(1)) {}
            try store.close()
        }
    }
}

/// What is counted.
enum HotPath: String, CaseIterable {
    case importing = "import"
    /// Each batch merges its identities into those of all that is there.
    case importSmall = "import_small_batches"
    case readAll = "read_all"
    case foldAll = "fold_all"
    case lookup = "lookup_uuid"
    case lookupSync = "lookup_sync_id"
    case rangeDay = "range_day"
    /// A unit is a day.
    case dayStats = "day_stats"
    /// A unit is a point.
    case seriesPoints = "series_points"
    case durableWrite = "durable_write"

    static let history = History(.plain, samples: 100_000, batchRows: 50_000)
    /// With samples in most hours, as summaries of long histories have.
    static let denseHistory = History(.plain, samples: 1_000_000, batchRows: 50_000)
    /// The stores, within the folder.
    static let usual = "usual"
    static let dense = "dense"

    var store: String { self == .dayStats || self == .seriesPoints ? HotPath.dense : HotPath.usual }

    static let points = 1_000

    /// How often a work is done.
    var rounds: Int {
        switch self {
        case .importing: 2
        case .importSmall: 20
        case .readAll, .foldAll: 20
        case .lookup, .lookupSync: 2_000
        case .rangeDay: 200
        case .dayStats, .seriesPoints: 20
        case .durableWrite: 200
        }
    }

    /// How many samples, lookups or writes that is.
    var units: Int {
        switch self {
        case .importing: 40_000
        case .importSmall: 20_000
        case .readAll, .foldAll: rounds * HotPath.history.samples
        case .dayStats: rounds * History.days
        case .seriesPoints: rounds * HotPath.points
        default: rounds
        }
    }

    func run(_ folder: String, _ rounds: Int) throws {
        let store = try HotPaths.open(folder + "/" + self.store)
        switch self {
        case .importing: try importAll(units, batchRows: 20_000, store, rounds)
        case .importSmall: try importAll(units, batchRows: 1_000, store, rounds)
        case .readAll: try readAll(store, rounds)
        case .foldAll: try foldAll(store, rounds)
        case .lookup: try lookUp(store, rounds)
        case .lookupSync: try lookUpSync(store, rounds)
        case .rangeDay: try readDays(store, rounds)
        case .dayStats: try sumDays(store, rounds)
        case .seriesPoints: try reduce(store, rounds)
        case .durableWrite: try save(store, rounds)
        }
        try store.close()
    }
}

/// Counts operations, and says of which the planted slow-down makes two.
struct Repeats {
    private var operation = 0

    mutating func next() -> Int {
        operation += 1
        return HotPaths.isPlanted && operation % 10 == 1 ? 2 : 1
    }
}
