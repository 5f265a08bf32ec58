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
        exit(Tool(console: console).run(Array(CommandLine.arguments.dropFirst())).rawValue)
    }
}
