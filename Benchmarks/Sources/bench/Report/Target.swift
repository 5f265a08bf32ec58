/// The targets of this store for 10 million samples of profile `plain`, with its summaries up to date, and of profile
/// `life` against `plain`.
struct Target {
    let text: String
    let isMet: Bool

    /// The targets of one work whose figures were measured.
    static func targets(of work: String, in figures: Figures) -> [Target] {
        usual(work, figures) + single(work, figures)
    }

    /// The targets of data as people have it, against the figures of `plain` in the same run.
    static func targets(ofLife work: String, in figures: Figures, plain: Figures) -> [Target] {
        let least = ["import": 0.6, "read_all": 0.5]
        guard let share = least[work], let own = figures["HealthKV", work] else { return [] }
        return [ratio(own, plain["HealthKV", work], atLeast: share, "plain")].compactMap { $0 }
    }

    /// How much of the time of LMDB's rows and of SQLite a single operation may take.
    private static let shares: [String: (rows: Double, sqlite: Double)] = [
        "durable_write": (0.6, 1.1), "edit": (0.65, 1.2), "delete": (0.65, 1.2), "latest": (1.2, 0.35),
        "range_day.first": (1.3, 0.6), "range_day": (1.0, 0.5), "lookup_uuid.hit": (1.1, 0.9),
        "lookup_sync_id.hit": (1.2, 0.9), "lookup_sync_id.miss": (2, 0.7),
    ]

    /// The targets of operations on one sample, and of many that write one each.
    private static func single(_ work: String, _ figures: Figures) -> [Target] {
        guard let own = figures["HealthKV", work] else { return [] }
        if work.hasPrefix("durable_write_64") && !work.hasSuffix(".one") || work == "write_folded" {
            // The others have threads only.
            let other = work == "durable_write_64" ? work + ".threads" : work
            return [
                ratio(own, figures["LMDB-rows", other], atLeast: 1.5, "rows"),
                ratio(own, figures["SQLite", other], atLeast: 2, "SQLite"),
            ].compactMap { $0 }
        }
        guard let share = shares[work] else { return [] }
        return [
            figures["LMDB-rows", work].map { times(own.value, $0.value, atMost: share.rows, "rows") },
            figures["SQLite", work].map { times(own.value, $0.value, atMost: share.sqlite, "SQLite") },
        ].compactMap { $0 }
    }

    private static func usual(_ work: String, _ figures: Figures) -> [Target] {
        guard let own = figures["HealthKV", work] else { return [] }
        switch work {
        case "import": return importTargets(own, figures)
        case "bytes_per_sample": return [most(own.value, 45, "bytes")]
        case "bytes_per_sample_single_writes": return [most(own.value, 50, "bytes")]
        case "bytes_per_sample_compacted": return [most(own.value, 40, "bytes")]
        case "bytes_per_sample_derived_compacted": return [most(own.value, 14, "bytes")]
        case "read_all", "read_all_recycled":
            return [
                ratio(own, figures["LMDB-rows", work], atLeast: 10, "rows"),
                ratio(own, figures["SQLite", work], atLeast: 35, "SQLite"),
                ratio(own, figures["DuckDB", work], atLeast: 3, "DuckDB"),
                ratio(own, figures["memcpy", work], atLeast: 0.4, "memcpy"),
            ].compactMap { $0 }
        case "day_stats":
            return [
                below(own.p50.map { $0 / 1000 }, 1, "ms"), quicker(own, figures["DuckDB", work], atLeast: 5, "DuckDB"),
                quicker(own, figures["SQLite", work], atLeast: 150, "SQLite's scan"),
                quicker(own, figures["SQLite-daily", work], atLeast: 1, "SQLite's kept days"),
            ].compactMap { $0 }
        case "series_points": return [below(own.p50.map { $0 / 1000 }, 1, "ms")].compactMap { $0 }
        case "lookup_uuid", "lookup_sync_id":
            return [below(own.p50, 3, "us"), quicker(own, figures["SQLite", work], atLeast: 2, "SQLite")]
                .compactMap { $0 }
        case "durable_write_64", "durable_write_64.threads":
            return [ratio(own, figures["HealthKV", "durable_write_64.one"], atLeast: 10, "one writer")]
                .compactMap { $0 }
        case "import_xml":
            var targets = [Target(text: ">= 150 MB/s", isMet: own.value >= 150)]
            if let bytes = own.privateBytes {
                targets.append(Target(text: "private < 64 MB", isMet: bytes < 64_000_000))
            }
            return targets
        case "dump", "load": return [Target(text: ">= 1 M/s", isMet: own.value >= 1_000_000)]
        case "range_day.first", "range_month.first": return [below(own.p50, 20, "us")].compactMap { $0 }
        case "open": return [below(own.p50.map { $0 / 1000 }, 2, "ms")].compactMap { $0 }
        case "open_unclean": return [below(own.p50.map { $0 / 1000 }, 100, "ms")].compactMap { $0 }
        case "durable_write", "edit", "delete": return writeTargets(own, figures[TwoPuts.name, work])
        default: return syncTargets(of: work, own, figures)
        }
    }

    private static func syncTargets(of work: String, _ own: Figure, _ figures: Figures) -> [Target] {
        switch work {
        case "sync_import_year", "sync_import_year.own":
            return [Target(text: "worst < 500 ms", isMet: own.worst ?? .infinity < 500_000)]
        case "sync_import.apart": return [Target(text: ">= 400 k/s", isMet: own.value >= 400_000)]
        case "bytes_per_sample_pulled.link": return [most(own.value, 24, "bytes")]
        case "status": return [below(own.p50, 1_000, "us")].compactMap { $0 }
        case "sync_push_latency": return [Target(text: "worst < 50 ms", isMet: own.worst ?? .infinity < 50_000)]
        case "bytes_per_sample_pulled", "bytes_per_sample_pulled.compacted":
            let other = work.replacing("pulled", with: "pulled.imported")
            guard let imported = figures[own.contestant, other] else { return [] }
            let more = own.value - imported.value
            return [Target(text: "<= imported + 2 bytes (\(Format.short(more)))", isMet: more <= 2)]
        default: return []
        }
    }

    private static func importTargets(_ own: Figure, _ figures: Figures) -> [Target] {
        var targets = [Target(text: ">= 1.5 M/s", isMet: own.value >= 1_500_000)]
        if let target = ratio(own, figures["SQLite", "import"], atLeast: 10, "SQLite") { targets.append(target) }
        if let bytes = own.privateBytes {
            targets.append(Target(text: "private < 128 MB", isMet: bytes < 128_000_000))
        }
        return targets
    }

    private static func writeTargets(_ own: Figure, _ baseline: Figure?) -> [Target] {
        guard let baseline, let p50 = own.p50, let p99 = own.p99, let worst = own.worst, let base50 = baseline.p50,
            let base99 = baseline.p99
        else { return [] }
        if own.work != "durable_write" { return [times(p50, base50, atMost: 3, "p50")] }
        return [
            times(p50, base50, atMost: 1.5, "p50"), times(p99, base99, atMost: 2, "p99"),
            Target(text: "worst < 50 ms", isMet: worst < 50_000),
        ]
    }

    private static func most(_ value: Double, _ limit: Double, _ unit: String) -> Target {
        Target(text: "<= \(Format.short(limit)) \(unit)", isMet: value <= limit)
    }

    private static func below(_ value: Double?, _ limit: Double, _ unit: String) -> Target? {
        value.map { Target(text: "p50 < \(Format.short(limit)) \(unit)", isMet: $0 < limit) }
    }

    private static func ratio(_ own: Figure, _ other: Figure?, atLeast: Double, _ name: String) -> Target? {
        other.map {
            Target(
                text: ">= \(Format.short(atLeast))x \(name) (\(Format.short(own.value / $0.value)))",
                isMet: own.value >= atLeast * $0.value)
        }
    }

    private static func quicker(_ own: Figure, _ other: Figure?, atLeast: Double, _ name: String) -> Target? {
        other.map {
            Target(
                text: "\(Format.short(atLeast))x quicker than \(name) (\(Format.short($0.value / own.value)))",
                isMet: $0.value >= atLeast * own.value)
        }
    }

    private static func times(_ own: Double, _ base: Double, atMost: Double, _ name: String) -> Target {
        Target(
            text: "\(name) <= \(Format.short(atMost))x (\(Format.short(own / base)))", isMet: own <= atMost * base)
    }
}

/// The figures of a run, by contestant and work.
struct Figures {
    private let byName: [String: Figure]

    init(_ measurements: [Figure]) {
        byName = Dictionary(measurements.map { ("\($0.contestant) \($0.work)", $0) }, uniquingKeysWith: { $1 })
    }

    subscript(contestant: String, work: String) -> Figure? { byName["\(contestant) \(work)"] }
}
