import Foundation
import HealthKVSync
import Testing

@Suite("Localized descriptions of sync")
struct ErrorDescriptionTests {
    @Test("The localized description of an issue and of a peer's error is its description")
    func descriptions() {
        let issue: any Error = SyncIssue(.delayed, "the disk is busy")
        #expect(issue.localizedDescription == "\(issue)")
        let error: any Error = PeerError(.transient, "the disk is busy")
        #expect(error.localizedDescription == "\(error)")
    }
}
