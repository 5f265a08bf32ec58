import Testing

@testable import HealthModel

/// A refusal names the field and the limit that was exceeded.
@Suite("Messages of refusals")
struct RefusalMessageTests {
    private let now = Instant(nanoseconds: 0)

    private func text(_ change: (inout Sample) -> Void) -> String {
        var sample = Sample(.stepCount, 1, .count, at: now)
        change(&sample)
        do { try sample.validate() } catch { return "\(error)" }
        return ""
    }

    @Test("The refusal of metadata out of bounds names its key and the limit")
    func metadata() {
        let long = String(repeating: "x", count: Sample.textLimit + 1)
        let value = text { $0.metadata = ["com.example.text": .string(long)] }
        #expect(value.contains("com.example.text") && value.contains("65,535"), "\(value)")
        let count = text { sample in
            for number in 0..<256 { sample.metadata["k\(number)"] = .bool(true) }
        }
        #expect(count.contains("255") && count.contains("metadata"), "\(count)")
        let bytes = text { sample in
            for number in 0..<20 { sample.metadata["k\(number)"] = .string(String(repeating: "x", count: 60_000)) }
        }
        #expect(bytes.contains("1,048,576"), "\(bytes)")
        let infinite = text { $0.metadata = ["com.example.number": .number(.infinity)] }
        #expect(infinite.contains("com.example.number"), "\(infinite)")
        #expect(text { $0.metadata = ["": .bool(true)] }.contains("key"))
    }

    @Test("The refusal of a number out of bounds names the bounds")
    func numbers() {
        #expect(text { $0.version = -1 }.contains("4,611,686,018,427,387,902"))
        #expect(text { $0.count = 0 }.contains("1 to 2,147,483,647"))
        #expect(text { $0.multiplicity = -1 }.contains("0 to 2,147,483,647"))
    }

    @Test("The UUID of all zeros is refused as such, not as malformed text")
    func nilIdentifier() {
        let refusal = text { $0.id = .zero }
        #expect(refusal.contains("all zeros") && !refusal.contains("text"), "\(refusal)")
    }
}
