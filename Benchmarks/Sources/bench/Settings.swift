import Foundation
import Histories

/// The settings of the measurements, from the command line.
struct Settings {
    /// The requested profiles, one table for each; `nil` if none was requested.
    var profiles: [History.Profile]?
    /// The profile of this run.
    var profile = History.Profile.plain
    /// The numbers of samples of the histories, one run for each.
    var sizes = [1_000_000]
    /// The size of this run.
    var samples: Int {
        get { sizes[0] }
        set { sizes = [newValue] }
    }
    var seed: UInt64 = 1
    var batchRows = 50_000
    var runs = 3
    var writes = 20_000
    var only = Set(Work.allCases)
    var contestants = ContestantName.allCases
    var json: String?
    var html: String?
    /// The seconds after which a work is not repeated and a series of single operations ends.
    var budget = 20.0
    /// The start of the whole run, by the clock of `Stopwatch`.
    var began = Stopwatch.now()
    var folder = FileManager.default.temporaryDirectory.path
    /// The contestant of this process; set only in a contestant's process.
    var child: ContestantName?
    /// The store to open, write to and leave without closing; set only in a contestant's process.
    var abandon: String?

    private static let names = ContestantName.allCases.map(\.rawValue).joined(separator: ", ")

    static let usage = """
        usage: bench [options]

          --samples N[,N]    samples of the history (1000000; 10k, 1M and the like are understood); a run for each number
          --profile P[,P]    plain, weight, life (plain, and beside it life with at most 1000000 samples)
          --only W[,W]       these works only (all)
          --contestants C[,C]  these contestants only (all): \(names)
          --json FILE        adds the figures to FILE, one JSON object a line
          --html FILE        draws how each cost grows with the history; give --samples several numbers
          --folder DIR       where the stores are written (the temporary folder); they are removed afterwards
          --runs N           how often what can be repeated is repeated (3), as long as it is quick
          --seconds N        a work that took so many seconds is not repeated, and single operations end (20)
          --writes N         how many durable single writes (20000); a tenth as many edits and deletions
          --batch N          rows of a batch, each committed durably (50000)
          --seed N           seed of the history (1)
          --short            a million samples of profile plain, each work once, in two to five minutes

        works: \(Work.allCases.map(\.rawValue).joined(separator: ", "))
        """

    init() {}

    init(_ arguments: [String]) throws {
        var rest = arguments[...]
        while let option = rest.popFirst() {
            if option == "--short" {
                shorten()
                continue
            }
            guard let value = rest.popFirst() else {
                throw WrongUsage("\(option) needs a value\n\n\(Settings.usage)")
            }
            try set(option, value)
        }
    }

    /// The requested runs. `plain` has the targets, and by default realistic data is measured too, with fewer samples,
    /// because ten million are more than a person has.
    var parts: [(profile: History.Profile, samples: Int)] {
        if let profiles { return profiles.flatMap { profile in sizes.map { (profile, $0) } } }
        let fewer = sizes.map { min($0, 1_000_000) }
        let life = fewer.enumerated().filter { fewer.firstIndex(of: $0.element) == $0.offset }
        return sizes.map { (.plain, $0) } + life.map { (.life, $0.element) }
    }

    /// The settings of one run; a short history has smaller batches, so that it has enough of them.
    func part(_ profile: History.Profile, _ samples: Int) -> Settings {
        var settings = self
        settings.profile = profile
        settings.sizes = [samples]
        settings.batchRows = min(batchRows, max(1, samples / 24))
        return settings
    }

    /// Takes the settings of a short run; options that follow may change them.
    private mutating func shorten() {
        (profiles, sizes, runs, writes, budget) = ([.plain], [1_000_000], 1, 2_000, 3)
    }

    private mutating func set(_ option: String, _ value: String) throws {
        switch option {
        case "--samples": sizes = try value.split(separator: ",").map { try Settings.number(String($0), option) }
        case "--seed": seed = try UInt64(Settings.number(value, option))
        case "--batch": batchRows = try Settings.number(value, option)
        case "--runs": runs = try Settings.number(value, option)
        case "--writes": writes = try Settings.number(value, option)
        case "--profile":
            let names: [History.Profile] = try value.split(separator: ",").map { try Settings.name(String($0), option) }
            (profiles, profile) = (names, names.first ?? .plain)
        case "--only": only = try Set(value.split(separator: ",").map { try Settings.name(String($0), option) })
        case "--contestants":
            contestants = try value.split(separator: ",").map { try Settings.name(String($0), option) }
        case "--json": json = value
        case "--html": html = value
        case "--seconds": budget = try Double(Settings.number(value, option))
        case "--began": began = try UInt64(Settings.number(value, option))
        case "--folder": folder = value
        case "--abandon": abandon = value
        case "--child": child = try Settings.name(value, option)
        default: throw WrongUsage("\(option) is not known\n\n\(Settings.usage)")
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
            throw WrongUsage("\(option): \(text) is no number above 0")
        }
        return number * factor
    }

    private static func name<Name: RawRepresentable & CaseIterable>(_ text: String, _ option: String) throws -> Name
    where Name.RawValue == String {
        if let name = Name(rawValue: text) { return name }
        if let name = Name.allCases.first(where: { $0.rawValue.lowercased() == text.lowercased() }) { return name }
        let names = Name.allCases.map(\.rawValue).joined(separator: ", ")
        throw WrongUsage("\(option): \(text) is none of \(names)")
    }

    /// The arguments that pass these settings to a contestant's process.
    func arguments(for contestant: ContestantName) -> [String] {
        [
            "--child", contestant.rawValue, "--profile", profile.rawValue, "--samples", "\(samples)", "--seed",
            "\(seed)",
            "--batch", "\(batchRows)", "--runs", "\(runs)", "--writes", "\(writes)", "--folder", folder,
            "--seconds", "\(Int(budget))", "--began", "\(began)", "--only", only.map(\.rawValue).joined(separator: ","),
        ]
    }

    func history(hasIDs: Bool = true) -> History {
        History(profile, samples: samples, seed: seed, batchRows: batchRows, hasIDs: hasIDs)
    }
}
