import HealthKV

/// Reads lines and stores them batch by batch: while one batch is stored the next one is read.
struct Loader {
    /// Lines that one durable commit takes: many enough to be fast, few enough to be held twice.
    static let batchRows = 32_768
    /// Input that one commit takes, and a line more: lines may be long.
    static let batchBytes = 16 << 20

    private let store: SampleStore
    private let writer: BatchWriter
    private let zone: Zone
    private let firstLine: Int
    private let batchBytes: Int
    private var input: InputLines
    private var reader: LineReader
    private var batch = SampleBatch()
    /// The line of each row of the batch.
    private var lineOfRow: [Int] = []

    /// The orders of sources that the lines brought.
    private var priorities: [SampleType: [RankedSource]] = [:]
    /// How many lines cannot be read, and the first of them.
    private var unread = 0
    private var unreadNamed: [BadLine] = []

    /// - Parameter firstLine: lines before it are passed over.
    init(
        store: SampleStore, input: InputPieces, zone: Zone, firstLine: Int = 1, batchBytes: Int = Loader.batchBytes
    ) {
        self.store = store
        writer = BatchWriter(store)
        self.zone = zone
        self.firstLine = firstLine
        self.batchBytes = batchBytes
        self.input = InputLines(input)
        reader = LineReader(zone: zone)
    }

    var lines: Int { input.number }

    /// Whether the input has no line from which to begin.
    var endedEarly: Bool { firstLine > 1 && lines < firstLine }

    /// How many lines were left out.
    var bad: Int { unread + writer.refused.count }
    /// The first of them.
    var named: [BadLine] {
        Array((unreadNamed + writer.refused.named).sorted { $0.line < $1.line }.prefix(BatchWriter.named))
    }

    /// The records of sync state that were stored.
    var states: Int { writer.storedStates }

    /// The first line that is not stored; `nil` when none is.
    var nextLine: Int? {
        let stored = writer.storedLines
        return stored >= firstLine ? stored + 1 : nil
    }

    /// Stores all lines. When it throws, everything before ``nextLine`` is stored and nothing is under way.
    mutating func loadAll(skipBad: Bool, _ progress: Progress) throws -> ImportReport {
        do {
            while try loadBatch(skipBad: skipBad) { try progress.advance(to: input.bytesRead) }
            let report = try writer.finish()
            try setPriorities()
            // Compute the summaries now: no process may do so later.
            while try store.maintain(budget: .milliseconds(200)) { try Interruption.check() }
            return report
        } catch {
            var error = error
            // A line before this one may have been refused meanwhile.
            do { _ = try writer.finish() } catch let line as BadLine { error = line } catch {}
            if nextLine != nil { try setPriorities() }
            if let line = error as? BadLine { throw Failure("Line \(line.line): \(line.reason). \(advice)") }
            guard let error = error as? JSONError else { throw error }
            throw Failure("Line \(input.number): \(error.reason). \(advice)")
        }
    }

    /// What to do about a bad line. Lines that are stored must not be loaded again: they may have no ids.
    private var advice: String {
        guard let nextLine else { return "Nothing was stored. Correct the line, or pass --skip-bad." }
        return "Lines before \(nextLine) are stored, and nothing behind them. Correct the line and go on with "
            + "--from-line \(nextLine); with --skip-bad too, it may stay as it is."
    }

    /// Reads the next batch and hands it over; `false` when there was none.
    private mutating func loadBatch(skipBad: Bool) throws -> Bool {
        if reader.isFull(batch) {
            reader = LineReader(zone: zone)
            batch = SampleBatch()
        }
        var sawLine = false
        let begin = input.bytesRead
        while batch.count + reader.states.count < Loader.batchRows, input.bytesRead - begin < batchBytes,
            reader.hasRoom(in: batch), try readLine(skipBad: skipBad)
        {
            sawLine = true
        }
        try Interruption.check()
        priorities.merge(reader.priorities) { $1 }
        let settings = reader.takeSettings()
        // Before the samples that they concern, which are checked by them.
        for definition in settings.definitions { try define(definition, skipBad: skipBad) }
        try setShadowing(settings.shadowing)
        if sawLine {
            try writer.store(
                LoadedBatch(
                    samples: batch, headKinds: reader.headKinds, states: settings.states, lineOfRow: lineOfRow,
                    lastLine: input.number), skipBad: skipBad)
        }
        batch.removeAll()
        lineOfRow.removeAll(keepingCapacity: true)
        return sawLine
    }

    /// A store may define a type otherwise than the dump.
    private func define(_ definition: TypeDefinition, skipBad: Bool) throws {
        do { try store.define(definition) } catch let error as StoreError
            where skipBad && [.invalidArgument, .conflictingTypes].contains(error.code)
        {}
    }

    /// Before the samples that it concerns, so that they need not be marked twice.
    private func setShadowing(_ shadowing: [SampleType: Bool]) throws {
        if shadowing.isEmpty { return }
        let known = try store.read { try $0.shadowing() }
        for (type, isOn) in shadowing where known[type] != isOn { try store.setShadowing(of: type, isOn) }
    }

    private func setPriorities() throws {
        let priorities = priorities
        if priorities.isEmpty { return }
        try store.write { transaction in
            for (type, order) in priorities { try transaction.setPriority(order, of: type) }
        }
    }

    private mutating func readLine(skipBad: Bool) throws -> Bool {
        if input.number + 1 < firstLine { return try input.next { _ in } != nil }
        defer { if lineOfRow.count < batch.count { lineOfRow.append(input.number) } }
        if input.takeKnown({ reader.readKnown($0, into: &batch) }) { return true }
        do {
            return try input.next { try reader.read($0, into: &batch) } != nil
        } catch let error as JSONError where skipBad {
            unread += 1
            if unreadNamed.count < BatchWriter.named {
                unreadNamed.append(BadLine(line: input.number, reason: error.reason))
            }
            return true
        }
    }
}
