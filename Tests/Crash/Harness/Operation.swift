import HealthKV
import TestSupport

/// One change, performed on both the store and the model.
enum Operation: Sendable {
    case save([Sample])
    case delete(SampleID)
    case deleteNamed(Model.SyncKey)
    case deleteGroup(String)
    case deleteRange(SampleType, from: Instant, to: Instant)
    case deleteSource(SourceIdentity, leavingTombstones: Bool)
    case importBatch(SampleBatch)
}

/// The store returned another result than the model.
struct Mismatch: Error, CustomStringConvertible {
    let description: String
    init<Answer>(_ operation: String, store: Answer, model: Answer) {
        description = "\(operation): the store answered \(store), the model \(model)"
    }
}

extension Operation {
    private func compare<Answer: Equatable>(_ name: String, _ store: Answer, _ model: Answer) throws {
        if store != model { throw Mismatch(name, store: store, model: model) }
    }

    func perform(_ transaction: inout WriteTransaction, _ model: inout Model) throws {
        switch self {
        case .save(let samples):
            try compare("save", transaction.save(samples), samples.map { model.save($0) })
        case .delete(let id):
            try compare("delete(id:)", transaction.delete(id: id), model.delete(id))
        case .deleteNamed(let key):
            let answer = try transaction.delete(.syncIdentifier(key.text, of: key.type, source: key.source)) > 0
            try compare("delete(syncIdentifier:)", answer, model.delete(key))
        case .deleteGroup(let group):
            try compare("deleteGroup", transaction.delete(.group(group)), model.deleteAll { $0.group == group })
        case .deleteRange(let type, let from, let to):
            let answer = try transaction.delete(.range(of: type, from: from, to: to))
            try compare(
                "deleteRange", answer, model.deleteAll { $0.type == type && $0.start >= from && $0.start < to })
        case .deleteSource(let source, let leavingTombstones):
            let answer =
                try leavingTombstones ? transaction.delete(.source(source)) : transaction.purge(.source(source))
            try compare(
                leavingTombstones ? "deleteSource" : "purgeSource", answer,
                model.deleteAll(leavingTombstones: leavingTombstones) { $0.source.identity == source })
        case .importBatch(let batch):
            try compare("importBatch", transaction.importBatch(batch), model.importBatch(batch))
        }
    }
}

/// Draws operations. They depend on the generator and the model alone.
struct OperationSource {
    var generator: SeededGenerator
    /// Repeats only batches of the same run: for earlier runs, the deletions are unknown.
    var run: UInt64 = 0
    /// Whether thousands of samples are added and removed at once, so that mass operations do not fit in one commit.
    var isMass = false
    /// The approximate number of samples to keep, so that an image is judged quickly.
    var target: Int { isMass ? 4_000 : 250 }

    mutating func transaction(_ model: Model) -> [Operation] {
        (0..<generator.number(1..<4)).map { _ in next(model) }
    }

    mutating func next(_ model: Model) -> Operation {
        if model.live.count > target, generator.chance(percent: 50) { return massDeletion(model) }
        switch generator.number(0..<100) {
        case 0..<32: return .save([Vocabulary.sample(&generator, model: model)])
        case 32..<40:
            return .save((0..<generator.number(2..<12)).map { _ in Vocabulary.sample(&generator, model: model) })
        case 40..<60: return .save((0..<generator.number(1..<5)).compactMap { _ in edit(model) })
        case 60..<65:
            return model.deleted(near: SampleID(using: &generator)).map { .save([revival($0)]) } ?? next(model)
        case 65..<84: return deletion(model)
        case 84..<91: return .importBatch(namedBatch(model))
        case 91..<97: return .importBatch(derivedBatch())
        default: return massDeletion(model)
        }
    }

    private mutating func edit(_ model: Model) -> Sample? {
        // An edit does not change a derived id, but the model need not reproduce that rule.
        guard let id = model.ids.randomElement(using: &generator), !DerivedID.isDerived(id) else { return nil }
        var sample = model.live[id]!
        sample.version = generator.chance(percent: 90) ? 0 : max(0, sample.version + Int64(generator.number(0..<4)) - 1)
        switch generator.number(0..<10) {
        case 0: break
        case 1...2: sample = moved(sample)
        case 3: sample.metadata["edited"] = .number(Double(generator.number(0..<100)))
        default: sample.quantity = Quantity(Double(generator.number(1..<20_000)) / 8, sample.quantity.unit)
        }
        // Identify the sample by its name only, with a fresh id, as after a reinstallation.
        if sample.syncIdentifier != nil, sample.syncIdentifier != id.description, generator.chance(percent: 30) {
            sample.id = SampleID(using: &generator)
        }
        return sample
    }

    private mutating func moved(_ sample: Sample) -> Sample {
        var sample = sample
        let length = sample.isOpenEnded ? 0 : sample.end.nanoseconds - sample.start.nanoseconds
        sample.start = Vocabulary.instant(&generator)
        sample.end = sample.start + length
        return sample
    }

    private mutating func revival(_ sample: Sample) -> Sample {
        var sample = sample
        sample.version = generator.chance(percent: 50) ? 0 : sample.version + Int64(generator.number(0..<3))
        return sample
    }

    private mutating func deletion(_ model: Model) -> Operation {
        guard let id = model.ids.randomElement(using: &generator) else { return .delete(SampleID(using: &generator)) }
        let sample = model.live[id]!
        if let group = sample.group, generator.chance(percent: 50) { return .deleteGroup(group) }
        if let text = sample.syncIdentifier, text != id.description, generator.chance(percent: 50) {
            return .deleteNamed(Model.SyncKey(source: sample.source.identity, type: sample.type, text: text))
        }
        return .delete(id)
    }

    private mutating func massDeletion(_ model: Model) -> Operation {
        if generator.chance(percent: 40) {
            let source =
                generator.chance(percent: 50)
                ? Vocabulary.bulkSource : Vocabulary.sources.randomElement(using: &generator)!
            return .deleteSource(source.identity, leavingTombstones: generator.chance(percent: 50))
        }
        let from = Vocabulary.instant(&generator)
        let length = Int64(generator.number(1..<60)) * 86_400 * Instant.nanosecondsPerSecond
        let type =
            generator.chance(percent: 60) ? SampleType.stepCount : Vocabulary.types.randomElement(using: &generator)!
        return .deleteRange(type, from: from, to: from + length)
    }

    /// A batch of rows with ids: most new, some known.
    mutating func namedBatch(_ model: Model) -> SampleBatch {
        var batch = SampleBatch()
        var used: Set<SampleID> = []
        for _ in 0..<generator.number(2..<30) {
            let known = generator.chance(percent: 15) ? edit(model) : nil
            let sample = known ?? Vocabulary.sample(&generator, model: model)
            // Two rows of one identity would depend on the order within the batch.
            let id = sample.syncIdentifier.flatMap { model.sample(named: $0)?.id } ?? sample.id
            if used.insert(id).inserted { batch.append(sample) }
        }
        return batch
    }

    private mutating func derivedBatch() -> SampleBatch {
        // Repeat some batches after parts of them were edited or deleted.
        let known = SeededGenerator(seed: run, part: -1 - generator.number(0..<8))
        var own = generator.chance(percent: 40) ? known : SeededGenerator(seed: generator.next())
        let rows = isMass ? own.number(1_000..<3_500) : own.number(5..<50)
        return Vocabulary.derivedBatch(
            &own, rows: rows, source: own.chance(percent: 70) ? Vocabulary.bulkSource : Vocabulary.sources[2])
    }
}

extension Model {
    func sample(named text: String) -> Sample? { live.values.first { $0.syncIdentifier == text } }
}
