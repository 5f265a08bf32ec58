import Foundation
import HealthKVSync
import HealthKitSimulator
import Synchronization

/// Another app on the phone. Apple Health calls its observer for each new weight, during the call that saves it.
final class Witness: Sendable {
    private let arrived = Mutex<UInt64?>(nil)
    private let news = DispatchSemaphore(value: 0)
    /// The app of the observer, which runs while this object exists.
    private let app: SimulatedApp

    init(on phone: SimulatedPhone) async throws {
        app = phone.install("app.example.witness", "Witness")
        let type = SampleType.bodyMass.healthType
        try await app.healthStore.requestAuthorization(toShare: [], read: [type])
        let query = HKObserverQuery(queryDescriptors: [HKQueryDescriptor(sampleType: type, predicate: nil)]) {
            [weak self] _, _, completion, _ in
            self?.note(Stopwatch.now())
            completion()
        }
        app.healthStore.execute(query)
        // HealthKit calls the observer once at its start.
        forget()
    }

    private func note(_ time: UInt64) {
        arrived.withLock { $0 = $0 ?? time }
        news.signal()
    }

    /// Resets, so that the next weight counts.
    func forget() {
        arrived.withLock { $0 = nil }
        while news.wait(timeout: .now()) == .success {}
    }

    /// The time at which the next weight arrived; `nil` if none came in time.
    func wait(seconds: Double = 10) -> UInt64? {
        guard news.wait(timeout: .now() + seconds) == .success else { return nil }
        return arrived.withLock { $0 }
    }
}
