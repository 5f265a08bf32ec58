import Foundation

/// Prints a message that is not a result.
package func complain(_ text: String) { FileHandle.standardError.write(Data((text + "\n").utf8)) }

/// Ends a harness that could not do its work: exit code 64 after wrong usage, otherwise 1.
package func endHarness(_ error: any Error, in verb: String?) -> Never {
    if let misuse = error as? Arguments.Misuse {
        complain(misuse.description)
        exit(64)
    }
    complain("\(verb ?? ""): \(error)")
    exit(1)
}
