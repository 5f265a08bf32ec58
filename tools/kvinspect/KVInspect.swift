import Foundation

@main
enum KVInspect {
    static func main() {
        Signals.install()
        let console = Console(environment: ProcessInfo.processInfo.environment)
        exit(Tool(console: console).run(Array(CommandLine.arguments.dropFirst())).rawValue)
    }
}
