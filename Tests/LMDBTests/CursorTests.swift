import LMDB
import Testing
import TestSupport

@Suite struct CursorTests {
    private func filled(_ folder: TemporaryFolder) throws -> (Environment, Table) {
        let environment = try Environment.small(folder)
        let table = try environment.makeTable()
        try environment.write { transaction in
            for key: UInt8 in [10, 20, 30] { try transaction.put(table, [key], [key, 1]) }
        }
        return (environment, table)
    }

    @Test("A cursor moves in both directions and stops at the ends")
    func walking() throws {
        let folder = TemporaryFolder()
        let (environment, table) = try filled(folder)
        let transaction = try environment.beginRead()
        var cursor = try transaction.view.cursor(table)
        var seen: [UInt8] = []
        while try cursor.next() { seen.append(cursor.key.array[0]) }
        #expect(try !cursor.next())
        while try cursor.previous() { seen.append(cursor.value.array[0]) }
        #expect(try !cursor.previous())
        while try cursor.next() { seen.append(cursor.key.array[0]) }
        #expect(seen == [10, 20, 30, 30, 20, 10, 10, 20, 30])
        #expect(try cursor.first() && cursor.key.array == [10])
        #expect(try cursor.last() && cursor.key.array == [30])
        var fresh = try transaction.view.cursor(table)
        #expect(try fresh.previous() && fresh.key.array == [30])
    }

    @Test("Seeking finds the key, the next key or the previous one")
    func seeking() throws {
        let folder = TemporaryFolder()
        let (environment, table) = try filled(folder)
        let transaction = try environment.beginRead()
        var cursor = try transaction.view.cursor(table)
        let cases: [(key: [UInt8], atOrAfter: UInt8?, exact: UInt8?, atOrBefore: UInt8?)] = [
            ([5], 10, nil, nil), ([10], 10, 10, 10), ([10, 0], 20, nil, 10), ([15], 20, nil, 10), ([20], 20, 20, 20),
            ([30], 30, 30, 30), ([30, 0], nil, nil, 30), ([31], nil, nil, 30),
        ]
        for (key, atOrAfter, exact, atOrBefore) in cases {
            #expect(try (cursor.seek(key) ? cursor.key.array.first : nil) == atOrAfter)
            #expect(try (cursor.seekExact(key) ? cursor.key.array.first : nil) == exact)
            #expect(try (cursor.seekAtOrBefore(key) ? cursor.key.array.first : nil) == atOrBefore)
            #expect(try (cursor.seekAtOrBefore(key) ? cursor.value.array.first : nil) == atOrBefore)
        }
    }

    @Test("The empty key precedes all keys, and a key that is too long is refused")
    func boundaryKeys() throws {
        let folder = TemporaryFolder()
        let (environment, table) = try filled(folder)
        let transaction = try environment.beginRead()
        var cursor = try transaction.view.cursor(table)
        #expect(try cursor.seek([]) && cursor.key.array == [10])
        #expect(try !cursor.seekAtOrBefore([]))
        #expect(code { _ = try cursor.seekExact([]) } == .badValueSize)
        let long = [UInt8](repeating: 1, count: 512)
        #expect(code { _ = try cursor.seek(long) } == .keyTooLong)
        #expect(code { _ = try cursor.seekExact(long) } == .keyTooLong)
        #expect(code { _ = try cursor.seekAtOrBefore(long) } == .keyTooLong)
        #expect(try !cursor.seek([UInt8](repeating: 255, count: 511)))
        #expect(try cursor.seekAtOrBefore([UInt8](repeating: 255, count: 511)) && cursor.key.array == [30])
    }

    @Test("A cursor in an empty table has no position")
    func emptyTable() throws {
        let folder = TemporaryFolder()
        let environment = try Environment.small(folder)
        let table = try environment.makeTable()
        let transaction = try environment.beginRead()
        var cursor = try transaction.view.cursor(table)
        #expect(try !cursor.first() && !cursor.last() && !cursor.next() && !cursor.previous())
        #expect(try !cursor.seek([1]) && !cursor.seekExact([1]) && !cursor.seekAtOrBefore([1]))
    }

    @Test("Reading a record at no position stops the program")
    func noRecord() async {
        let folder = TemporaryFolder()
        await #expect(processExitsWith: .failure) { [path = folder.path as String] in
            let environment = try Environment(folder: path)
            let table = try environment.makeTable()
            let transaction = try environment.beginRead()
            let cursor = try transaction.view.cursor(table)
            _ = cursor.key.byteCount
        }
    }

    @Test("A cursor in a write transaction sees its changes")
    func writing() throws {
        let folder = TemporaryFolder()
        let (environment, table) = try filled(folder)
        try environment.write { transaction in
            try transaction.put(table, [15], [15])
            do {
                var cursor = try transaction.view.cursor(table)
                #expect(try cursor.seekExact([15]) && cursor.value.array == [15])
                #expect(try cursor.next() && cursor.key.array == [20])
            }
            try transaction.delete(table, [20])
            var cursor = try transaction.view.cursor(table)
            #expect(try cursor.seek([16]) && cursor.key.array == [30])
        }
        try environment.expectIntact()
    }

    @Test("A span points into the map and outlives its cursor")
    func spans() throws {
        let folder = TemporaryFolder()
        let (environment, table) = try filled(folder)
        let transaction = try environment.beginRead()
        let view = transaction.view
        var cursor = try view.cursor(table)
        #expect(try cursor.first())
        let first = cursor.value
        #expect(try cursor.next())
        #expect(first.array == [10, 1])
        #expect(cursor.value.array == [20, 1])
        let again = try view.get(table, [10])
        let firstPlace = unsafe first.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) }
        let secondPlace = unsafe again?.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) }
        #expect(firstPlace == secondPlace)
    }
}
