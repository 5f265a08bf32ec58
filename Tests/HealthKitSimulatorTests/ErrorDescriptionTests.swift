import Foundation
import HealthKitSimulator
import Testing

@Suite("Localized descriptions of simulated errors")
struct ErrorDescriptionTests {
    @Test("The localized description of a refused save is its description, and says what was refused")
    func refusedSave() async throws {
        let bench = try await Bench()
        let refused = await #expect(throws: HKError.self) { try await bench.store.save([]) }
        let error: any Error = try #require(refused)
        #expect(error.localizedDescription == "\(error)")
        #expect(error.localizedDescription.contains("No objects to save"))
    }
}
