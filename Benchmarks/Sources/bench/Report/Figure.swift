import Foundation

/// One figure of one contestant: a line of the JSON file.
struct Figure: Codable {
    var contestant: String
    var work: String
    var samples: Int
    var profile: String
    var value: Double
    var unit: Unit
    /// How many runs or single operations `value` is the median of.
    var runs: Int?
    /// The smallest and largest of the runs whose median `value` is.
    var low: Double?
    var high: Double?
    var p50: Double?
    var p99: Double?
    var p999: Double?
    var worst: Double?
    /// The peak of anonymous memory.
    var privateBytes: Int?
    /// The peak of all memory that was mapped, the cached part of files among it.
    var peakBytes: Int?
    /// Bytes that the system wrote to disk, for each sample or write.
    var writtenBytes: Double?
    /// Whether the answer came from maintained summaries instead of samples.
    var fromSummaries = false

    enum Unit: String, Codable {
        case perSecond = "samples/s"
        case writesPerSecond = "writes/s"
        case bytes = "bytes/sample"
        case microseconds = "us"

        /// Whether a greater figure is the better one.
        var moreIsBetter: Bool { self == .perSecond || self == .writesPerSecond }
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
    /// What was not measured is null: every line has every key.
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

/// What a contestant answered, as a digest: two contestants that differ make a run worthless.
struct Answer: Codable {
    var contestant: String
    var work: String
    var digest: String
}

/// What a contestant's process tells the one that started it, a line each.
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
