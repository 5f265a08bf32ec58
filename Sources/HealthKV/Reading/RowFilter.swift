import ColumnFormat
import HealthModel

/// A ``SampleFilter`` for the rows of one snapshot: names are numbers, and what was found out about a unit, a device or
/// metadata is kept for the next row.
final class RowFilter {
    private indirect enum Node {
        case sources(Set<UInt32>)
        case device(String)
        case value(SampleFilter.Comparison, Double, HealthUnit)
        case duration(SampleFilter.Comparison, Double)
        case metadata(Int)
        case group(String)
        case flag(StoredRow.Flags)
        case not(Node)
        case all([Node])
        case any([Node])
    }

    /// What a filter wants to know of metadata.
    private struct MetadataQuestion {
        let key: String
        /// `nil` if any value does.
        let value: MetadataValue?
        /// The answers for metadata in its stored form.
        var answers: [[UInt8]: Bool] = [:]
    }

    private let root: Node
    private var questions: [MetadataQuestion] = []
    /// More answers than this are forgotten and found again.
    private static let answerLimit = 4_096

    /// - Throws: ``StoreError/Code/unsuitableQuery`` if the filter compares with a unit that cannot express the type.
    init(_ filter: SampleFilter, of type: SampleType, in snapshot: borrowing Snapshot) throws {
        try RowFilter.check(filter, of: type, snapshot.unit(of: type), path: snapshot.path)
        var questions: [MetadataQuestion] = []
        root = try RowFilter.node(filter, &questions, snapshot)
        self.questions = questions
    }

    /// Throws if the filter compares with a unit that cannot express values of the type.
    static func check(
        _ filter: SampleFilter, of type: SampleType, _ canonical: HealthUnit?, path: String
    ) throws(StoreError) {
        guard let canonical else { return }
        guard let other = filter.units.first(where: { !$0.isCompatible(with: canonical) }) else { return }
        throw StoreError(
            .unsuitableQuery, path: path,
            "\(type) is measured in \(canonical), which \(other) in the filter cannot express")
    }

    private static func node(
        _ filter: SampleFilter, _ questions: inout [MetadataQuestion], _ snapshot: borrowing Snapshot
    ) throws -> Node {
        switch filter {
        case .source(let source): return .sources(try NameTable.numbers(meantBy: source, in: snapshot))
        case .device(let text): return .device(text)
        case .value(let comparison, let number, let unit): return .value(comparison, number, unit)
        case .duration(let comparison, let seconds): return .duration(comparison, seconds)
        case .hasMetadata(let key):
            questions.append(MetadataQuestion(key: key, value: nil))
            return .metadata(questions.count - 1)
        case .metadata(let key, let value):
            questions.append(MetadataQuestion(key: key, value: value))
            return .metadata(questions.count - 1)
        case .group(let group): return .group(group)
        case .isUserEntered: return .flag(.userEntered)
        case .isImported: return .flag(.imported)
        case .not(let inner): return .not(try node(inner, &questions, snapshot))
        case .all(let parts): return .all(try nodes(parts, &questions, snapshot))
        case .any(let parts): return .any(try nodes(parts, &questions, snapshot))
        }
    }

    private static func nodes(
        _ filters: [SampleFilter], _ questions: inout [MetadataQuestion], _ snapshot: borrowing Snapshot
    ) throws -> [Node] {
        var nodes: [Node] = []
        for filter in filters { nodes.append(try node(filter, &questions, snapshot)) }
        return nodes
    }

    /// The sources that every match has, if the filter says so outside of `not` and `or`.
    var neededSources: Set<UInt32>? {
        switch root {
        case .sources(let numbers): return numbers
        case .all(let parts):
            for case .sources(let numbers) in parts { return numbers }
            return nil
        default: return nil
        }
    }

    /// Returns `true` if a row matches.
    func matches(_ row: StoredRow, in snapshot: borrowing Snapshot) throws -> Bool { try matches(root, row, snapshot) }

    private func matches(_ node: Node, _ row: StoredRow, _ snapshot: borrowing Snapshot) throws -> Bool {
        switch node {
        case .sources(let numbers):
            return numbers.contains(try NameTable.revision(row.revision, in: snapshot).sourceNumber)
        case .device(let text):
            guard let device = try NameTable.device(row.device, in: snapshot) else { return false }
            return [device.name, device.model].contains { $0.map { isSameText($0, text) } ?? false }
        case .value(let comparison, let number, let unit):
            let own = try NameTable.unit(row.unit, in: snapshot)
            guard let value = try? own.convert(row.value, to: unit) else { return false }
            return comparison.holds(value, number)
        case .duration(let comparison, let seconds):
            let length = SampleFilter.seconds(
                from: Instant(nanoseconds: row.start), to: Instant(nanoseconds: row.end))
            return length.map { comparison.holds($0, seconds) } ?? false
        case .metadata(let question): return try answer(question, row)
        case .group(let group): return row.rare?.content.group.map { isSameText($0, group) } ?? false
        case .flag(let flag): return row.flags.contains(flag)
        case .not(let inner): return try !matches(inner, row, snapshot)
        case .all(let parts):
            for part in parts where try !matches(part, row, snapshot) { return false }
            return true
        case .any(let parts):
            for part in parts where try matches(part, row, snapshot) { return true }
            return false
        }
    }

    private func answer(_ question: Int, _ row: StoredRow) throws -> Bool {
        guard let bytes = row.rare?.metadata else { return false }
        if let known = questions[question].answers[bytes] { return known }
        let value = try MetadataCoding.decode(bytes)[questions[question].key]
        let answer = questions[question].value.map { $0 == value } ?? (value != nil)
        if questions[question].answers.count >= RowFilter.answerLimit { questions[question].answers = [:] }
        questions[question].answers[bytes] = answer
        return answer
    }
}
