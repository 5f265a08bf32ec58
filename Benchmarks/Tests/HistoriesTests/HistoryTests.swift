import HealthKV
import Histories
import Testing

@Suite("Histories")
struct HistoryTests {
    @Test("The same seed gives the same history, in batches of any size", arguments: History.Profile.allCases)
    func sameSeed(profile: History.Profile) {
        let first = all(History(profile, samples: 5_000, seed: 7, batchRows: 333))
        let second = all(History(profile, samples: 5_000, seed: 7, batchRows: 5_000))
        #expect(first.count == 5_000)
        #expect(first == second)
        #expect(all(History(profile, samples: 5_000, seed: 8)) != first)
    }

    @Test("Every sample is valid, its id is its own, and times never go back", arguments: History.Profile.allCases)
    func valid(profile: History.Profile) throws {
        let history = History(profile, samples: 20_000)
        let samples = all(history)
        for sample in samples { try sample.validate() }
        #expect(Set(samples.map(\.id)).count == samples.count)
        #expect(zip(samples, samples.dropFirst()).allSatisfy { $0.start <= $1.start })
        #expect(Set(samples.map(\.type)) == Set(history.types))
    }

    @Test("Histories of one seed share no ids, so that one store can take several")
    func disjoint() {
        let ids = History.Profile.allCases.flatMap { all(History($0, samples: 1_000)).map(\.id) }
        #expect(Set(ids).count == ids.count)
    }

    @Test("Leaving out the UUIDs changes nothing else", arguments: History.Profile.allCases)
    func derived(profile: History.Profile) {
        let with = all(History(profile, samples: 2_000))
        let without = all(History(profile, samples: 2_000, hasIDs: false))
        #expect(with.map(\.start) == without.map(\.start))
        #expect(with.map(\.quantity) == without.map(\.quantity))
        #expect(without.allSatisfy { DerivedID.isDerived($0.id) })
    }

    @Test("A batch has as many rows as asked, the last one the rest")
    func batches() {
        let counts = History(.plain, samples: 1_050, batchRows: 100).map(\.count)
        #expect(counts == Array(repeating: 100, count: 10) + [50])
    }

    @Test("Picks are samples of the history, spread over it")
    func picks() {
        let history = History(.plain, samples: 10_000)
        let places = Dictionary(uniqueKeysWithValues: all(history).enumerated().map { ($1.id, $0) })
        let picked = history.picks(100)
        #expect(picked.count == 100)
        for (index, sample) in picked.enumerated() { #expect(places[sample.id].map { $0 / 100 } == index) }
        #expect(History(.plain, samples: 10).picks(100).count == 10)
    }

    private func all(_ history: History) -> [Sample] {
        history.flatMap { batch in (0..<batch.count).map { batch.sample(at: $0) } }
    }
}
