/// What a caller passes that cannot be meant.
package enum Misuse {
    /// Ends the process with a word unless `isMeant`. An optimized build leaves out the words of `precondition`.
    package static func refuse(
        unless isMeant: Bool, _ word: @autoclosure () -> String, file: StaticString = #fileID, line: UInt = #line
    ) {
        if !isMeant { fatalError(word(), file: file, line: line) }
    }
}
