import LMDB

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

@main
enum KVInspect {
    static func main() {
        // Before any file is opened: none may get the number of a closed output.
        StandardDescriptors.reserve()
        Interruption.installHandlers()
        WatchedProcess.join()
        let console = Console(environment: ProcessInfo.processInfo.environment)
        if !argumentsAreText {
            console.say(
                "Error: An argument is no UTF-8, and would be taken for another name. Enter the folder and pass '.', or "
                    + "pass a symbolic link to a folder that holds it.")
            exit(ExitCode.usage.rawValue)
        }
        exit(Tool(console: console).run(Array(CommandLine.arguments.dropFirst())).rawValue)
    }

    /// Whether the arguments are what was typed: bytes that are no UTF-8 are replaced in them.
    private static var argumentsAreText: Bool {
        guard CommandLine.arguments.contains(where: { $0.unicodeScalars.contains("\u{FFFD}") }),
            let typed = FileManager.default.contents(atPath: "/proc/self/cmdline")
        else { return true }
        return String(data: typed, encoding: .utf8) != nil
    }
}
