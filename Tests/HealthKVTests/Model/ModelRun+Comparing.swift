@testable import HealthKV

/// Reads, each compared with the model's answer.
extension ModelRun {
    func compareSome() throws {
        try store.read { try compareSome($0) }
        if random.chance(0.03) { try compareAll() }
    }

    /// A few random reads.
    func compareSome<Reading: SampleReading & ~Copyable>(_ txn: borrowing Reading) throws {
        for _ in 0..<random.number(1..<4) {
            switch random.number(0..<10) {
            case 0..<4: try compare(txn, anyQuery())
            case 4: try compareCounts(txn)
            case 5: try compareColumns(txn, random.pick(pool.types), range())
            case 6..<8: try compareLookups(txn, ids: anyIDs(), sync: anySyncIdentifiers())
            case 8: try comparePages(txn)
            default: try compareGroups(txn)
            }
        }
    }

    /// Everything: all samples, all indexes, all tombstones, the feed from its beginning.
    func compareAll() throws {
        try store.read { txn in
            for type in pool.types + [.dietaryFiber] {
                try compare(txn, Query(type: type, includeShadowed: true))
                try compare(txn, Query(type: type, order: .descending))
                try compareColumns(txn, type, (.distantPast, .distantFuture))
            }
            try compareCounts(txn)
            try compareGroups(txn)
            try compareLookups(
                txn, ids: Array(model.live.keys) + Array(model.gravesByID.keys),
                sync: Set(model.live.values.compactMap(\.syncIdentifier)).union(pool.syncIdentifiers))
            try compareTombstones(txn)
            try compareSummaries(txn)
            try compareFeed(txn)
        }
        try advanceReplicas(wholly: true)
        guard faults.isEmpty else { return }
        let report = try store.check()
        try expect(report.isClean, "check: \(report.findings)")
    }

    // MARK: Ranges

    func range() -> (from: Instant, to: Instant) {
        func bound() -> Instant {
            switch random.number(0..<12) {
            case 0: return .distantPast
            case 1: return .distantFuture
            case 2..<6:
                return anyLive().map { random.pick([$0.start, $0.end, $0.start + 1, $0.end + 1]) } ?? .distantPast
            case 6: return random.pick([.earliest, .latest, Instant(nanoseconds: 1_000_000_000_000_000_000)])
            default:
                return Instant(nanoseconds: pool.base) + Int64(random.number(-3_000..<9_000))
                    * Instant.nanosecondsPerSecond
            }
        }
        let (first, second) = (bound(), bound())
        // Most ranges are the right way round.
        return random.chance(0.15) || first <= second ? (first, second) : (second, first)
    }

    private func anyQuery() -> Query {
        var query = Query(type: random.pick(pool.types + [SampleType("org.example.unknown")]))
        if random.chance(0.8) { (query.from, query.to) = range() }
        query.rule = random.pick(RangeRule.allCases)
        query.order = random.pick([.ascending, .descending])
        query.limit = random.pick([nil, nil, 0, 1, 5, 40])
        query.source = random.chance(0.3) ? random.pick(pool.sources).identity : nil
        if random.chance(0.03) { query.source = SourceIdentity(bundle: "org.example.nobody", name: "Nobody") }
        query.includeShadowed = random.chance(0.5)
        return query
    }

    func compare<Reading: SampleReading & ~Copyable>(_ txn: borrowing Reading, _ query: Query) throws {
        let found = try txn.samples(
            SampleQuery(
                query.type, from: query.from, to: query.to, rule: query.rule, order: query.order, limit: query.limit,
                source: query.source, includeShadowed: query.includeShadowed))
        try compare(found, model.samples(query), "\(query)")
    }

    func compare(_ found: [Sample], _ expected: [Sample], _ what: @autoclosure () -> String) throws {
        if found.map({ ReferenceModel.wholeBytes($0) }) == expected.map({ ReferenceModel.wholeBytes($0) }) { return }
        var lines = ["\(what()): \(found.count) samples, not \(expected.count)"]
        let ids = (Set(found.map(\.id)), Set(expected.map(\.id)))
        lines += found.filter { !ids.1.contains($0.id) }.map {
            "  too many: \(brief($0))\($0.isShadowed ? " shadowed" : "")"
        }
        lines += expected.filter { !ids.0.contains($0.id) }.map {
            "  missing: \(brief($0))\($0.isShadowed ? " shadowed" : "")"
        }
        for (left, right) in zip(found, expected)
        where ReferenceModel.wholeBytes(left) != ReferenceModel.wholeBytes(right) {
            lines.append("  store \(left)\n  model \(right)")
            for sample in [left, right] {
                lines.append("  beneath \(sample.original as Any), taken off \(sample.reversion as Any)")
            }
            break
        }
        throw Mismatch(lines.joined(separator: "\n"))
    }

    private func comparePages<Reading: SampleReading & ~Copyable>(_ txn: borrowing Reading) throws {
        var query = anyQuery()
        query.limit = nil
        let (size, snapshot) = (random.number(1..<20), txn.snapshot)
        let sampleQuery = SampleQuery(
            query.type, from: query.from, to: query.to, rule: query.rule, order: query.order, source: query.source,
            includeShadowed: query.includeShadowed)
        var found: [Sample] = []
        var page = try QueryRows.page(sampleQuery, size: size, behind: nil, in: snapshot)
        while let last = page.1 {
            try expect(page.0.count <= size, "a page of \(page.0.count)")
            found += page.0
            page = try QueryRows.page(sampleQuery, size: size, behind: last, in: snapshot)
        }
        try compare(found, model.samples(query), "pages of \(size): \(query)")
    }

    private func compareCounts<Reading: SampleReading & ~Copyable>(_ txn: borrowing Reading) throws {
        let total = try txn.count()
        try expect(total == model.live.count, "count: \(total), not \(model.live.count)")
        for type in pool.types {
            var query = Query(type: type, rule: random.pick(RangeRule.allCases))
            if random.chance(0.7) { (query.from, query.to) = range() }
            let count = try txn.count(SampleQuery(type, from: query.from, to: query.to, rule: query.rule))
            let expected = model.samples(query).count
            try expect(count == expected, "count \(query): \(count), not \(expected)")
            let (first, latest) = (try txn.first(of: type), try txn.latest(of: type))
            let shown = model.samples(Query(type: type))
            try compare(
                [first, latest].compactMap(\.self), [shown.first, shown.last].compactMap(\.self), "ends of \(type)")
        }
    }

    // MARK: Columns

    private func compareColumns<Reading: SampleReading & ~Copyable>(
        _ txn: borrowing Reading, _ type: SampleType, _ range: (from: Instant, to: Instant)
    ) throws {
        let shown = model.samples(Query(type: type, from: range.from, to: range.to, rule: .strictStart))
        let unit = type.canonicalUnit
        let expected = try shown.map { sample in
            Column(
                time: sample.start.nanoseconds,
                bits: try (unit.map { try sample.value(in: $0) } ?? sample.quantity.value).bitPattern)
        }
        let units = Set(model.all(type).map(\.quantity.unit))
        if unit == nil, units.count > 1 {
            do {
                _ = try txn.series(type, from: range.from, to: range.to)
                throw Mismatch("series of mixed units")
            } catch let error as StoreError where error.code == .mixedUnits {
                return
            }
        }
        let folded = try txn.fold(type, from: range.from, to: range.to, into: [Column]()) { columns, times, values in
            for index in times.indices { columns.append(Column(time: times[index], bits: values[index].bitPattern)) }
        }
        // Duration classes come one after the other.
        try expect(folded.sorted() == expected.sorted(), "fold of \(type) in \(range)")
        let series = try txn.series(type, from: range.from, to: range.to)
        let columns = zip(series.times, series.values).map { Column(time: $0, bits: $1.bitPattern) }
        try expect(columns == expected, "series of \(type) in \(range): \(columns.count) rows, not \(expected.count)")
        try expect(series.unit == unit ?? units.first, "unit of the series of \(type)")
    }

    private struct Column: Comparable {
        var time: Int64
        var bits: UInt64
        static func < (left: Column, right: Column) -> Bool { (left.time, left.bits) < (right.time, right.bits) }
    }
}
