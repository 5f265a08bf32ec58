import ColumnFormat
import TestSupport

/// Forges rows of a store: arbitrary content with correct checksums and the right key in each value. Opening accepts
/// such a file, so the forged content reaches each reader.
struct Mutation {
    private let base: StoredRows
    private let tables: [TableCode]
    private var generator: SeededGenerator
    private(set) var changes: StoredRows.Changes = []
    /// The changes in words, for reports.
    private(set) var words: [String] = []

    /// - Parameter table: the only table to forge; `nil` for any.
    init(_ base: StoredRows, _ generator: SeededGenerator, table: TableCode?) {
        (self.base, self.generator) = (base, generator)
        tables = TableCode.allCases.filter { !base[$0].isEmpty && table ?? $0 == $0 }
    }

    /// Makes random changes, mostly one.
    mutating func draw() {
        for _ in 0..<generator.pick([1, 1, 1, 1, 2, 3]) { change() }
    }

    private mutating func change() {
        let table = tables.randomElement(using: &generator)!
        let row = base[table].randomElement(using: &generator)!
        let kind = Kind.drawn(&generator)
        words += [table.name, kind.rawValue]
        switch kind {
        case .fields: put(row, fields(row.value))
        case .columns: put(row, columns(row.value))
        case .head: put(row, head(row.value))
        case .otherBody: put(row, otherBody(row))
        case .key: moveToOtherKey(row)
        case .swappedKeys: swapKeys(row)
        case .copies: copy(row)
        case .removed: changes.append((row.table, row.key, nil))
        case .chunkPair: changePair()
        }
    }

    private enum Kind: String, CaseIterable {
        case fields, columns, head, otherBody, key, swappedKeys, copies, removed, chunkPair

        private var share: Int {
            switch self {
            case .fields: 58
            case .columns, .key: 10
            case .head, .chunkPair: 6
            case .otherBody: 5
            case .copies: 3
            case .swappedKeys, .removed: 1
            }
        }

        static func drawn(_ generator: inout SeededGenerator) -> Kind {
            generator.pick(allCases.flatMap { [Kind](repeating: $0, count: $0.share) })
        }
    }

    private mutating func put(_ row: StoredRows.Row, _ value: [UInt8]) { changes.append((row.table, row.key, value)) }

    // MARK: - Numbers

    /// Numbers that are likely to break arithmetic and allocations.
    private mutating func number(near old: UInt64, of size: Int) -> UInt64 {
        switch generator.number(0..<16) {
        case 0: 0
        case 1: 1
        case 2: .max
        case 3: old &+ 1
        case 4: old &- 1
        case 5: 1 << 31
        case 6: 1 << 31 - 1
        case 7: 1 << 63
        case 8: 1 << 63 - 1
        case 9: UInt64(UInt32.max)
        case 10: 1 << 62
        case 11: 0 &- old
        case 12: UInt64(generator.number(0..<1 << 17))
        case 13: old &* 2
        case 14: old ^ 1 << UInt64(generator.number(0..<size * 8))
        default: generator.next() >> UInt64(generator.number(0..<64))
        }
    }

    /// Sets a number of one to eight bytes at a random offset, in the byte order of values or of keys.
    private mutating func setNumber(_ bytes: inout [UInt8], from first: Int = 0, _ limit: Int = .max) {
        let size = generator.pick([1, 1, 2, 4, 4, 8, 8])
        let end = min(bytes.count, limit) - size
        guard end >= first else { return }
        let place = generator.number(first..<end + 1)
        let isTurned = generator.chance(percent: 15)
        let shifts = (0..<size).map { UInt64(8 * (isTurned ? size - 1 - $0 : $0)) }
        let old = (0..<size).reduce(UInt64(0)) { $0 | UInt64(bytes[place + $1]) << shifts[$1] }
        let new = number(near: old, of: size)
        for index in 0..<size { bytes[place + index] = UInt8(truncatingIfNeeded: new >> shifts[index]) }
    }

    // MARK: - Bodies

    /// Changes numbers in a column, mostly in its first bytes, which hold counts and widths.
    private mutating func fields(_ bytes: [UInt8]) -> [UInt8] {
        guard var value = SealedValue(bytes), !value.columns.isEmpty else { return bytes }
        for _ in 0..<generator.pick([1, 1, 1, 2, 3, 6]) {
            let column = generator.number(0..<value.columns.count)
            if let inner = inner(value.columns[column].bytes) {
                value.columns[column].bytes = inner
                continue
            }
            let limit = generator.pick([8, 16, 32, 64, Int.max])
            setNumber(&value.columns[column].bytes, limit)
        }
        return value.sealed
    }

    /// Forges a whole value inside a record, such as the content kept of a deleted sample.
    private mutating func inner(_ bytes: [UInt8]) -> [UInt8]? {
        let starts = bytes.indices.dropLast(64).filter { place in
            (bytes[place + 4] == 4 || bytes[place + 4] == 5) && bytes[place + 5] == 1
                && bytes.number(place) == bytes.number(place + 8) && place + 4 + bytes.number(place) <= bytes.count
        }
        guard let start = starts.randomElement(using: &generator), generator.chance(percent: 80) else { return nil }
        let end = start + 4 + bytes.number(start)
        let value = Array(bytes[start + 4..<end])
        let forged =
            switch generator.number(0..<3) {
            case 0: columns(value)
            case 1: head(value)
            default: fields(value)
            }
        return bytes[..<start] + SealedValue.bytes(UInt32(forged.count)) + forged + bytes[end...]
    }

    /// Cuts, extends, duplicates, removes and reorders columns, or parts of one.
    private mutating func columns(_ bytes: [UInt8]) -> [UInt8] {
        guard var value = SealedValue(bytes), !value.columns.isEmpty else { return bytes }
        let column = generator.number(0..<value.columns.count)
        let content = value.columns[column].bytes
        let (from, to) = (generator.number(0..<content.count + 1), generator.number(0..<content.count + 1))
        let part = content[min(from, to)..<max(from, to)]
        switch generator.number(0..<11) {
        case 0: value.columns[column].bytes = Array(content.prefix(from))
        case 1: value.columns[column].bytes += (0..<generator.pick([1, 4, 8, 100])).map { _ in random() }
        case 2: value.columns.append(value.columns[column])
        case 3: value.columns.remove(at: column)
        case 4: value.columns.shuffle(using: &generator)
        case 5: value.columns[column].tag = random()
        case 6: value.columns[column].bytes.insert(contentsOf: part, at: generator.pick([0, from, content.count]))
        case 7: value.columns[column].bytes.removeSubrange(part.indices)
        case 8: for index in part.indices { value.columns[column].bytes[index] = generator.pick([0, 255]) }
        case 9: value.columns[column].bytes.replaceSubrange(part.indices, with: part.reversed())
        default:
            // Rare columns are few, so put the bytes of another row's column under this tag.
            let other = base.rows.randomElement(using: &generator)!
            guard let donor = SealedValue(other.value)?.columns.randomElement(using: &generator) else { break }
            value.columns[column].bytes = donor.bytes
        }
        return value.sealed
    }

    private mutating func random() -> UInt8 { UInt8(truncatingIfNeeded: generator.next()) }

    /// Changes the header: rows, marked rows, the commit, lengths, the bound of the span, the directory.
    private mutating func head(_ bytes: [UInt8]) -> [UInt8] {
        guard var value = SealedValue(bytes) else { return bytes }
        if generator.chance(percent: 70) {
            switch generator.number(0..<3) {
            case 0: setNumber(&value.head, from: 8)
            case 1 where !value.upper.isEmpty: changeKey(&value.upper)
            default: setNumber(&value.head, from: 16, 24)
            }
            return value.sealed
        }
        var sealed = value.sealed
        setNumber(&sealed, 32 + value.key.count + value.upper.count + 8 * value.columns.count)
        SealedValue.seal(&sealed)
        return sealed
    }

    /// Takes the body of another row, mostly of the same table.
    private mutating func otherBody(_ row: StoredRows.Row) -> [UInt8] {
        let rows = generator.chance(percent: 70) ? base[row.table] : base.rows[...]
        guard let other = rows.randomElement(using: &generator), var value = SealedValue(other.value) else {
            return row.value
        }
        value.head[0] = row.table.rawValue
        value.key = row.key
        return value.sealed
    }

    // MARK: - Keys

    private mutating func changeKey(_ key: inout [UInt8]) {
        switch generator.number(0..<8) {
        case 0: key.removeLast(generator.number(0..<key.count))
        case 1: key += (0..<generator.pick([1, 1, 4, 8, 64])).map { _ in generator.pick([0, 255, random()]) }
        case 2: key[generator.number(0..<key.count)] = generator.pick([0, 1, 127, 128, 255])
        case 3: for index in generator.number(0..<key.count)..<key.count { key[index] = generator.pick([0, 255]) }
        case 4: key = Array(key.dropFirst(generator.number(0..<key.count)))
        default: setNumber(&key)
        }
    }

    private func renamed(_ value: [UInt8], _ key: [UInt8]) -> [UInt8] {
        guard var value = SealedValue(value) else { return value }
        value.key = key
        return value.sealed
    }

    /// Moves a row to another key, or copies it there.
    private mutating func moveToOtherKey(_ row: StoredRows.Row) {
        var key = row.key
        changeKey(&key)
        guard !key.isEmpty, key.count < 256 else { return }
        if generator.chance(percent: 60) { changes.append((row.table, row.key, nil)) }
        let value = generator.chance(percent: 25) ? fields(row.value) : row.value
        changes.append((row.table, key, renamed(value, key)))
    }

    private mutating func swapKeys(_ row: StoredRows.Row) {
        let other = base[row.table].randomElement(using: &generator)!
        changes.append((row.table, row.key, renamed(other.value, row.key)))
        changes.append((row.table, other.key, renamed(row.value, other.key)))
    }

    /// Copies a row to many keys: readers must not do slow work for each of them.
    private mutating func copy(_ row: StoredRows.Row) {
        let counts = generator.chance(percent: 5) ? [1_000] : [2, 10, 100]
        for _ in 0..<generator.pick(counts) {
            var key = row.key
            changeKey(&key)
            guard !key.isEmpty, key.count < 256 else { continue }
            changes.append((row.table, key, renamed(row.value, key)))
        }
    }

    /// Changes a chunk and its details in the same way, because each verifies the other.
    private mutating func changePair() {
        guard let chunk = base[.chunks].randomElement(using: &generator),
            let details = base[.details].first(where: { $0.key == chunk.key }),
            var hot = SealedValue(chunk.value), var cold = SealedValue(details.value)
        else { return }
        var key = chunk.key
        switch generator.number(0..<4) {
        case 0:
            setNumber(&hot.head, from: 8, 20)
            cold.head.replaceSubrange(8..<20, with: hot.head[8..<20])
        case 1: changeKey(&hot.upper)
        case 2: hot.upper = base[.chunks].randomElement(using: &generator)!.key
        default: changeKey(&key)
        }
        guard !key.isEmpty, key.count < 256 else { return }
        cold.upper = hot.upper
        (hot.key, cold.key) = (key, key)
        if key != chunk.key { for table in [TableCode.chunks, .details] { changes.append((table, chunk.key, nil)) } }
        changes.append((.chunks, key, hot.sealed))
        changes.append((.details, key, cold.sealed))
        if generator.chance(percent: 30), let (_, key, value) = changes.last {
            changes.append((.details, key, fields(value!)))
        }
    }
}
