import LMDB
import Testing
import TestSupport

/// Compares random transactions with a dictionary as the reference model.
@Suite struct ModelTests {
    private typealias Model = [[UInt8]: [UInt8]]

    private struct Refusal: Error {}

    @Test("Random transactions leave the same records as a dictionary", arguments: 0..<8)
    func transactions(run: Int) throws {
        let seed = UInt64.random(in: 0 ... .max)
        print("seed \(seed)")
        var random = SeededGenerator(seed: seed)
        let folder = TemporaryFolder()
        let environment = try Environment.small(folder)
        let table = try environment.makeTable()
        var model = Model()
        for _ in 0..<60 {
            var changed = model
            do {
                try environment.write { try change(&$0, table, &changed, depth: 2, &random) }
                model = changed
            } catch is Refusal {}
            try compare(environment, table, model, &random)
        }
        try environment.expectIntact()
    }

    @Test("Records that lie over a table are read like its own, and can be moved there", arguments: 0..<8)
    func layers(run: Int) throws {
        let seed = UInt64.random(in: 0 ... .max)
        print("seed \(seed)")
        var random = SeededGenerator(seed: seed)
        let folder = TemporaryFolder()
        let environment = try Environment.small(folder)
        let table = try environment.makeTable()
        var model = Model()
        var layer: RecordLayer?
        for _ in 0..<120 {
            var changed = model
            let fate = random.number(0..<10)
            var transaction = try environment.beginWrite()
            do {
                if fate < 8 || layer != nil { transaction.collect(over: layer) }
                if fate == 8 { try transaction.fold() }
                try change(&transaction, table, &changed, depth: 2, &random)
                if fate == 9 { try transaction.fold() }
                let after = transaction.sharedLayer()
                try transaction.commit()
                if let after {
                    // Another process builds the same from the log.
                    let told = layer?.copy() ?? RecordLayer()
                    let view = try environment.beginRead()
                    try after.forEachLogged { table, key, value in
                        if let value {
                            told.put(table, key: key, value: value)
                        } else {
                            told.remove(table, key: key, isInTable: try view.view.getBeneath(table, key.array) != nil)
                        }
                    }
                    told.startLog()
                    layer = random.chance(percent: 50) ? told : after
                    after.startLog()
                } else {
                    layer = nil
                }
                model = changed
            } catch is Refusal {}
            try compare(environment, table, model, &random, over: layer)
        }
        try environment.write { transaction in
            transaction.collect(over: layer)
            try transaction.fold()
        }
        try compare(environment, table, model, &random)
        try environment.expectIntact()
    }

    /// Runs up to 40 operations and nested transactions; every sixth transaction throws at its end.
    private func change(
        _ transaction: inout WriteTransaction, _ table: Table, _ model: inout Model, depth: Int,
        _ random: inout SeededGenerator
    ) throws {
        for _ in 0..<Int.random(in: 0..<40, using: &random) {
            let key = anyKey(&random)
            let value = anyValue(&random)
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<4:
                try transaction.put(table, key, value)
                model[key] = value
            case 4:
                #expect(try transaction.insert(table, key, value) == (model[key] == nil))
                model[key] = model[key] ?? value
            case 5:
                try transaction.put(table, key, byteCount: value.count) { for byte in value { $0.append(byte) } }
                model[key] = value
            case 6..<9:
                #expect(try transaction.delete(table, key) == (model.removeValue(forKey: key) != nil))
            default:
                guard depth > 0 else { continue }
                var changed = model
                do {
                    try transaction.nested { try change(&$0, table, &changed, depth: depth - 1, &random) }
                    model = changed
                } catch is Refusal {}
            }
        }
        if Int.random(in: 0..<6, using: &random) == 0 { throw Refusal() }
    }

    private func compare(
        _ environment: Environment, _ table: Table, _ model: Model, _ random: inout SeededGenerator,
        over layer: RecordLayer? = nil
    ) throws {
        let keys = model.keys.sorted { $0.lexicographicallyPrecedes($1) }
        var transaction = try environment.beginRead()
        transaction.layer = layer
        let view = transaction.view
        #expect(try view.records(of: table).map(\.0) == keys)
        var cursor = try view.cursor(table)
        for _ in 0..<40 {
            let key = anyKey(&random)
            #expect(try view.get(table, key)?.array == model[key])
            let after = keys.firstIndex { !$0.lexicographicallyPrecedes(key) }
            let before = keys.lastIndex { !key.lexicographicallyPrecedes($0) }
            #expect(try (cursor.seek(key) ? cursor.key.array : nil) == after.map { keys[$0] })
            try walk(&cursor, from: after ?? keys.count, keys, &random)
            #expect(try (cursor.seekAtOrBefore(key) ? cursor.key.array : nil) == before.map { keys[$0] })
            try walk(&cursor, from: before ?? -1, keys, &random)
            #expect(try (cursor.seekExact(key) ? cursor.value.array : nil) == model[key])
        }
    }

    /// Takes some steps in both directions; -1 is before the first record, `keys.count` after the last.
    private func walk(
        _ cursor: inout Cursor, from start: Int, _ keys: [[UInt8]], _ random: inout SeededGenerator
    ) throws {
        var place = start
        for _ in 0..<Int.random(in: 0..<6, using: &random) {
            let isForward = Bool.random(using: &random)
            let moved = try isForward ? cursor.next() : cursor.previous()
            place = max(-1, min(keys.count, place + (isForward ? 1 : -1)))
            #expect(moved == keys.indices.contains(place))
            if moved { #expect(cursor.key.array == keys[place]) }
        }
    }

    private func anyKey(_ random: inout SeededGenerator) -> [UInt8] {
        let count = Int.random(in: 0..<20, using: &random) == 0 ? 511 : Int.random(in: 1...3, using: &random)
        return (0..<count).map { _ in UInt8.random(in: 0..<8, using: &random) }
    }

    private func anyValue(_ random: inout SeededGenerator) -> [UInt8] {
        let most = [0, 20, 2000, 10_000].randomElement(using: &random) ?? 0
        return [UInt8](
            repeating: UInt8.random(in: 0...255, using: &random), count: Int.random(in: 0...most, using: &random))
    }
}
