import ColumnFormat
import Testing

@testable import Salvage

/// Which commits happened follows from what sessions say of each other, or nothing does.
@Suite("Sessions in a damaged file")
struct SessionHistoryTests {
    private static let (a, b, c): (UInt32, UInt32, UInt32) = (11, 12, 13)

    private func stamp(_ commit: UInt64, _ session: UInt32) -> CommitStamp {
        CommitStamp(commit: commit, session: session)
    }

    /// - Parameters:
    ///   - values: commits of which there is a value.
    ///   - records: what a session said of those before it.
    ///   - headers: commits of which there is a header.
    private func history(
        _ values: [CommitStamp], _ records: [(session: UInt32, ended: [CommitStamp])], headers: [CommitStamp] = []
    ) -> SessionHistory {
        var history = SessionHistory()
        for stamp in values { history.note(stamp) }
        for record in records { history.note(record.ended, by: record.session) }
        for stamp in headers { history.note(header: stamp) }
        history.settle()
        return history
    }

    @Test("A commit belongs to the session that a later one names") func stretches() {
        let history = history(
            [stamp(3, Self.a), stamp(6, Self.a), stamp(6, Self.b), stamp(10, Self.c)],
            [(Self.b, [stamp(5, Self.a)]), (Self.c, [stamp(5, Self.a), stamp(9, Self.b)])])
        #expect(history.happened(stamp(6, Self.b)) == true)
        #expect(history.happened(stamp(6, Self.a)) == false)
        // The first entry says nothing of the commits before its own.
        #expect(history.happened(stamp(3, Self.a)) == nil)
        #expect(history.isShared(6) && !history.isShared(3))
    }

    @Test("A session with later commits than the next one wrote the next one, too") func followers() {
        let history = history(
            [stamp(6, Self.a), stamp(6, Self.b), stamp(7, Self.b)], [(Self.b, [stamp(5, Self.a)])])
        #expect(history.happened(stamp(6, Self.a)) == false)
        #expect(history.happened(stamp(6, Self.b)) == true)
        #expect(history.happened(stamp(7, Self.b)) == true)
    }

    @Test("A session may go on after one that was killed had said that it had ended") func goesOn() {
        let history = history(
            [stamp(6, Self.b), stamp(6, Self.a), stamp(7, Self.a)], [(Self.b, [stamp(5, Self.a)])])
        #expect(history.happened(stamp(6, Self.a)) == true)
        #expect(history.happened(stamp(7, Self.a)) == true)
        #expect(history.happened(stamp(6, Self.b)) == false)
    }

    @Test(
        "Of two sessions with the same last commit, the one whose header is left wrote it; with both, neither is sure")
    func headers() {
        let values = [stamp(6, Self.a), stamp(6, Self.b)]
        let records = [(session: Self.b, ended: [stamp(5, Self.a)])]
        let one = history(values, records, headers: [stamp(4, Self.a), stamp(6, Self.b)])
        #expect(one.happened(stamp(6, Self.b)) == true && one.happened(stamp(6, Self.a)) == false)
        let both = history(values, records, headers: [stamp(6, Self.a), stamp(6, Self.b)])
        #expect(both.happened(stamp(6, Self.b)) == nil && both.happened(stamp(6, Self.a)) == nil)
        // One of them did.
        #expect(both.happened(commit: 6) && !one.happened(commit: 6) && one.happened(commit: 5))
        let none = history(values, records)
        #expect(none.happened(stamp(6, Self.b)) == nil && none.happened(stamp(6, Self.a)) == nil)
    }

    @Test("Records that contradict each other decide nothing, and without a record nothing is known")
    func contradiction() {
        let history = history(
            [stamp(6, Self.a), stamp(6, Self.b), stamp(10, Self.c)],
            [
                (Self.c, [stamp(5, Self.a), stamp(9, Self.b)]), (Self.c, [stamp(5, Self.b), stamp(9, Self.a)]),
            ])
        #expect(history.happened(stamp(6, Self.a)) == nil && history.happened(stamp(6, Self.b)) == nil)
        #expect(self.history([stamp(6, Self.a)], []).happened(stamp(6, Self.a)) == nil)
    }

    @Test("A session that nobody names beyond the last known commit is not judged") func strangers() {
        let history = history(
            [stamp(6, Self.b), stamp(7, Self.b), stamp(8, Self.c)], [(Self.b, [stamp(5, Self.a)])])
        #expect(history.happened(stamp(8, Self.c)) == nil)
    }
}
