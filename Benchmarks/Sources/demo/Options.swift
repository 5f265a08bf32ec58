import Foundation

/// The options of the command line.
struct Options {
    var samples = 3_000_000
    /// A folder to keep the store in; `nil` for a temporary one.
    var keep: String?

    static let usage = """
        usage: demo [--samples N] [--keep DIR]

          --samples N   samples of ten years of steps, distance and energy (3000000; 10k or 1M are understood)
          --keep DIR    stores them in DIR and leaves them there; DIR must not hold a store yet
        """

    init(_ arguments: [String]) throws {
        var rest = arguments[...]
        while let option = rest.popFirst() {
            guard let value = rest.popFirst() else { throw DemoFailure("\(option) needs a value\n\n\(Options.usage)") }
            switch option {
            case "--samples": samples = try Options.number(value)
            case "--keep": keep = value
            default: throw DemoFailure("\(option) is not known\n\n\(Options.usage)")
            }
        }
    }

    private static func number(_ text: String) throws -> Int {
        let factor = text.hasSuffix("M") ? 1_000_000 : text.hasSuffix("k") ? 1_000 : 1
        guard let number = Int(factor == 1 ? text[...] : text.dropLast()), number * factor >= 1_000,
            number * factor <= 100_000_000
        else { throw DemoFailure("--samples takes a number from 1k to 100M") }
        return number * factor
    }
}

/// The reason why the demonstration could not continue.
struct DemoFailure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
