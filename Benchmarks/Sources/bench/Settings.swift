import Foundation
import Histories

/// What to measure, from the command line.
struct Settings {
    var profile = History.Profile.plain
    var samples = 1_000_000
    var seed: UInt64 = 1
    var batchRows = 50_000
    var runs = 3
    var writes = 20_000
    var only = Set(Work.allCases)
    var contestants = ContestantName.allCases
    var json: String?
    var folder = FileManager.default.temporaryDirectory.path
    /// Set in the process of one contestant.
    var child: ContestantName?
    /// Set in the process of one contestant: the store that it opens, writes to and leaves without closing it.
    var abandon: String?

    static let usage = """
        usage: bench [options]

          --samples N        samples of the history (1000000; 10k, 1M and the like are understood)
          --profile P        plain, weight or life (plain)
          --only W[,W]       these works only (all)
          --contestants C[,C]  these contestants only (all): \(ContestantName.allCases.map(\.rawValue).joined(separator: ", "))
          --json FILE        adds the figures to FILE, one JSON object a line
          --folder DIR       where the stores are written (the temporary folder); they are removed afterwards
          --runs N           how often what can be repeated is repeated (3)
          --writes N         how many durable single writes (20000); a tenth as many edits and deletions
          --batch N          rows of a batch, each committed durably (50000)
          --seed N           seed of the history (1)

        works: \(Work.allCases.map(\.rawValue).joined(separator: ", "))
        """

    init() {}

    init(_ arguments: [String]) throws {
        var rest = arguments[...]
        while let option = rest.popFirst() {
            guard let value = rest.popFirst() else {
                throw BenchFailure("\(option) needs a value\n\n\(Settings.usage)")
            }
            try set(option, value)
        }
        batchRows = min(batchRows, max(1, samples / 24))
    }

    private mutating func set(_ option: String, _ value: String) throws {
        switch option {
        case "--samples": samples = try Settings.number(value, option)
        case "--seed": seed = try UInt64(Settings.number(value, option))
        case "--batch": batchRows = try Settings.number(value, option)
        case "--runs": runs = try Settings.number(value, option)
        case "--writes": writes = try Settings.number(value, option)
        case "--profile": profile = try Settings.name(value, option)
        case "--only": only = try Set(value.split(separator: ",").map { try Settings.name(String($0), option) })
        case "--contestants":
            contestants = try value.split(separator: ",").map { try Settings.name(String($0), option) }
        case "--json": json = value
        case "--folder": folder = value
        case "--abandon": abandon = value
        case "--child": child = try Settings.name(value, option)
        default: throw BenchFailure("\(option) is not known\n\n\(Settings.usage)")
        }
    }

    private static func number(_ text: String, _ option: String) throws -> Int {
        var digits = text
        var factor = 1
        if let last = text.last, let power = ["k": 1_000, "M": 1_000_000][last] {
            factor = power
            digits.removeLast()
        }
        guard let number = Int(digits), number > 0 else {
            throw BenchFailure("\(option): \(text) is no number above 0")
        }
        return number * factor
    }

    private static func name<Name: RawRepresentable & CaseIterable>(_ text: String, _ option: String) throws -> Name
    where Name.RawValue == String {
        if let name = Name(rawValue: text) { return name }
        if let name = Name.allCases.first(where: { $0.rawValue.lowercased() == text.lowercased() }) { return name }
        let names = Name.allCases.map(\.rawValue).joined(separator: ", ")
        throw BenchFailure("\(option): \(text) is none of \(names)")
    }

    /// The arguments that give a contestant's process these settings.
    func arguments(for contestant: ContestantName) -> [String] {
        [
            "--child", contestant.rawValue, "--profile", profile.rawValue, "--samples", "\(samples)", "--seed",
            "\(seed)",
            "--batch", "\(batchRows)", "--runs", "\(runs)", "--writes", "\(writes)", "--folder", folder,
            "--only", only.map(\.rawValue).joined(separator: ","),
        ]
    }

    func history(hasIDs: Bool = true) -> History {
        History(profile, samples: samples, seed: seed, batchRows: batchRows, hasIDs: hasIDs)
    }
}

/// What is measured.
enum Work: String, CaseIterable {
    case importing = "import"
    case bytes = "bytes_per_sample"
    case compacted = "bytes_per_sample_compacted"
    case readAll = "read_all"
    case readAllRecycled = "read_all_recycled"
    case foldAll = "fold_all"
    case lookup = "lookup_uuid"
    case rangeDay = "range_day"
    case rangeMonth = "range_month"
    case latest = "latest"
    case reimport
    case open
    case openUnclean = "open_unclean"
    case derived = "bytes_per_sample_derived_compacted"
    case durableWrite = "durable_write"
    case edit
    case delete
}
