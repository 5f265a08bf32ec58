import Foundation
import HealthKV
import Histories

/// Runs a small fixed amount of work on each hot path, for `tools/guard`, which counts its instructions.
///
///     HotPaths prepare FOLDER           makes the initial stores of the other works
///     HotPaths WORK FOLDER ROUNDS    runs a work; with 0 rounds, only its setup
///     HotPaths list                  lists the works with their units per round and stores
///
/// With `HEALTHKV_PLANT` set, runs each tenth operation twice: the slow-down that the guard must detect.
@main
enum HotPaths {
    /// `ProcessInfo` would copy all variables once, in the part that is counted: the more there are, the longer.
    static let isPlanted = unsafe getenv("HEALTHKV_PLANT") != nil

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

    /// Opens a store without idle maintenance, which works request explicitly.
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

/// A path whose instructions are counted.
enum HotPath: String, CaseIterable {
    case importing = "import"
    /// Each batch merges its identities into those of the whole store.
    case importSmall = "import_small_batches"
    case readAll = "read_all"
    case foldAll = "fold_all"
    case lookup = "lookup_uuid"
    case lookupSync = "lookup_sync_id"
    case rangeDay = "range_day"
    /// A unit is a read of its own that asks for nothing.
    case beginRead = "begin_read"
    /// A unit is a read of its own.
    case latest = "latest"
    /// The first sample of a day, each in a read of its own.
    case firstOfDay = "first_of_day"
    /// A unit is a day.
    case dayStats = "day_stats"
    /// A unit is a point.
    case seriesPoints = "series_points"
    case durableWrite = "durable_write"
    /// A unit is one of many samples that are saved singly in one transaction.
    case saveOldestFirst = "save_oldest_first"
    /// The guard limits what this costs more than the other order.
    case saveNewestFirst = "save_newest_first"

    static let history = History(.plain, samples: 100_000, batchRows: 50_000)
    /// A history with samples in most hours, as long histories have them.
    static let denseHistory = History(.plain, samples: 1_000_000, batchRows: 50_000)
    /// The folders of the stores.
    static let usual = "usual"
    static let dense = "dense"

    var store: String { self == .dayStats || self == .seriesPoints ? HotPath.dense : HotPath.usual }

    static let points = 1_000

    /// The number of rounds of a work.
    var rounds: Int {
        switch self {
        case .importing: 2
        case .importSmall: 20
        case .readAll, .foldAll: 20
        case .lookup, .lookupSync: 2_000
        case .rangeDay: 200
        case .beginRead, .latest, .firstOfDay: 2_000
        case .dayStats, .seriesPoints: 20
        case .durableWrite: 200
        case .saveOldestFirst, .saveNewestFirst: 3_000
        }
    }

    /// The number of samples, lookups or writes in these rounds.
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
        case .beginRead: try begin(store, rounds)
        case .latest: try readLatest(store, rounds)
        case .firstOfDay: try readFirst(store, rounds)
        case .dayStats: try sumDays(store, rounds)
        case .seriesPoints: try reduce(store, rounds)
        case .durableWrite: try save(store, rounds)
        case .saveOldestFirst: try saveTogether(store, Array(0..<rounds))
        case .saveNewestFirst: try saveTogether(store, (0..<rounds).reversed())
        }
        try store.close()
    }
}

/// Counts operations; the planted slow-down runs each tenth one twice.
struct Repeats {
    private var operation = 0

    mutating func next() -> Int {
        operation += 1
        return HotPaths.isPlanted && operation % 10 == 1 ? 2 : 1
    }
}
