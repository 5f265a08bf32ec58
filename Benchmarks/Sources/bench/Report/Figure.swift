import Foundation

/// One figure of one contestant: a line of the JSON file.
struct Figure: Codable {
    var contestant: String
    var work: String
    var samples: Int
    var profile: String
    var value: Double
    var unit: Unit
    /// The number of runs or single operations of which `value` is the median.
    var runs: Int?
    /// The smallest and largest value of the runs.
    var low: Double?
    var high: Double?
    var p50: Double?
    var p99: Double?
    var p999: Double?
    var worst: Double?
    /// The peak of anonymous memory.
    var privateBytes: Int?
    /// The peak of all mapped memory, including cached parts of files.
    var peakBytes: Int?
    /// The bytes that the system wrote to disk, per sample or write.
    var writtenBytes: Double?
    /// Whether the answer came from maintained summaries instead of samples.
    var fromSummaries = false

    enum Unit: String, Codable {
        case perSecond = "samples/s"
        case writesPerSecond = "writes/s"
        case megabytesPerSecond = "MB/s"
        case bytes = "bytes/sample"
        case microseconds = "us"

        /// Whether a greater figure is better.
        var moreIsBetter: Bool { [.perSecond, .writesPerSecond, .megabytesPerSecond].contains(self) }
    }

    enum CodingKeys: String, CodingKey {
        case contestant, work, samples, profile, value, unit, runs, low, high, p50, p99, p999, worst
        case privateBytes = "private_bytes"
        case peakBytes = "peak_bytes"
        case writtenBytes = "written_bytes"
        case fromSummaries = "from_summaries"
    }
}

extension Figure {
    /// Missing measurements are null: every line has every key.
    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(contestant, forKey: .contestant)
        try container.encode(work, forKey: .work)
        try container.encode(samples, forKey: .samples)
        try container.encode(profile, forKey: .profile)
        try container.encode(value, forKey: .value)
        try container.encode(unit, forKey: .unit)
        try container.encode(runs, forKey: .runs)
        try container.encode(low, forKey: .low)
        try container.encode(high, forKey: .high)
        try container.encode(p50, forKey: .p50)
        try container.encode(p99, forKey: .p99)
        try container.encode(p999, forKey: .p999)
        try container.encode(worst, forKey: .worst)
        try container.encode(privateBytes, forKey: .privateBytes)
        try container.encode(peakBytes, forKey: .peakBytes)
        try container.encode(writtenBytes, forKey: .writtenBytes)
        try container.encode(fromSummaries, forKey: .fromSummaries)
    }
}

/// The digest of a contestant's answer: if digests differ, the run is worthless.
struct Answer: Codable {
    var contestant: String
    var work: String
    var digest: String
}

/// A message from a contestant's process to its parent, one per line.
enum Report: Codable {
    case measurement(Figure)
    case answer(Answer)

    var line: String {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            return try String(decoding: encoder.encode(self), as: UTF8.self)
        }
    }
}
