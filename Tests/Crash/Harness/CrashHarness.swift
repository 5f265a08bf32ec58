import Foundation

/// Shows that a store survives crashes. tools/crash runs it; docs/TESTING.md says what it does and what it cannot see.
@main
enum CrashHarness {
    private static let usage = """
        usage: CrashHarness work --store FOLDER --acks FILE --seed N --transactions N [--mass] [--lie]
        """

    static func main() {
        let words = CommandLine.arguments.dropFirst()
        do {
            let arguments = try Arguments(words.dropFirst())
            switch words.first {
            case "work": try Worker.run(arguments)
            case "images": try ImageRun.run(arguments)
            default: throw Arguments.Misuse(description: usage)
            }
        } catch let misuse as Arguments.Misuse {
            complain(misuse.description)
            exit(64)
        } catch {
            complain("\(words.first ?? ""): \(error)")
            exit(1)
        }
    }
}

/// Says something that is no result.
func complain(_ text: String) { FileHandle.standardError.write(Data((text + "\n").utf8)) }
