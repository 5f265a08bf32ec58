import Foundation
import HealthKV
import TestSupport

/// A history that is imported in batches, and the content of the store after each batch.
struct ImportHistory {
    static let job = "history"

    let batches: [SampleBatch]

    /// Makes batches with and without ids. Some repeat rows of earlier batches, and some repeat samples with other
    /// content.
    init(seed: UInt64, count: Int) {
        var generator = SeededGenerator(seed: seed, part: -1)
        var batches: [SampleBatch] = []
        var model = Model()
        for _ in 0..<count {
            var batch = SampleBatch()
            if !batches.isEmpty, generator.chance(percent: 10) {
                batch = batches.randomElement(using: &generator)!
            } else if generator.chance(percent: 40) {
                // A derived id depends on the source, so avoid the source that the store fills in.
                let source = Vocabulary.sources.dropFirst().randomElement(using: &generator)!
                batch = Vocabulary.derivedBatch(&generator, rows: generator.number(10..<80), source: source)
            } else {
                var source = OperationSource(generator: generator)
                batch = source.namedBatch(model)
                generator = source.generator
            }
            batches.append(batch)
            _ = model.importBatch(batch)
        }
        self.batches = batches
    }

    var contents: [ContentDigest] {
        var model = Model()
        return [model.digest]
            + batches.map { batch in
                _ = model.importBatch(batch)
                return model.digest
            }
    }
}

/// Imports a history, continuing where an earlier process was killed, and keeps a journal: change N is batch N.
enum Importer {
    static func run(_ arguments: Arguments) throws {
        let history = ImportHistory(
            seed: try arguments.number("seed", default: 1), count: Int(try arguments.number("batches", default: 60)))
        let journal = try RawFile(try arguments.text("acks"), appends: true)
        let contents = history.contents
        for (number, content) in contents.enumerated() {
            try journal.append(JournalLine.content(number: number, group: UInt64(number), content).text)
        }
        let store = try SampleStore.open(at: try arguments.text("store"), options: Vocabulary.options())
        let report = try store.importAll(
            Acknowledging(batches: history.batches, journal: journal), job: ImportHistory.job)
        try journal.append(JournalLine.acknowledged(history.batches.count).text)
        try store.close()
        print("imported \(report.total)")
    }

    /// Yields the batches. A request for a batch means that all batches before it are stored.
    private struct Acknowledging: Sequence {
        let batches: [SampleBatch]
        let journal: RawFile

        func makeIterator() -> AnyIterator<SampleBatch> {
            var place = 0
            return AnyIterator {
                guard place < batches.count else { return nil }
                // A lost line claims less than is durable, never more.
                try? journal.append(JournalLine.acknowledged(place).text)
                place += 1
                return batches[place - 1]
            }
        }
    }
}
