import HealthKV
import Testing

@testable import HealthKVSync

@Suite("The states that the engine stores, and all their transitions")
struct StateTests {
    private static func time(_ second: Int64) -> Instant { Instant(nanoseconds: second * 1_000_000_000) }

    // MARK: The phase of a feed

    private static let (earlier, later) = (time(1), time(2))
    private static let events: [FeedPhase.Event] = [
        .arrived(later), .ended, .placeForgotten, .adoptionForgotten, .leftPlan,
    ]

    /// Each phase with the phases that follow it, in the order of ``events``.
    private static let phases: [(FeedPhase, [FeedPhase])] = [
        (.notBegun, [.adopting(since: later), .drained, .notBegun, .notBegun, .notBegun]),
        (
            .adopting(since: earlier),
            [.adopting(since: later), .drained, .adopting(since: earlier), .adopting(since: earlier), .notBegun]
        ),
        (.readopting, [.adopting(since: later), .drained, .notBegun, .readopting, .readopting]),
        (.behind, [.midway(since: later), .drained, .behind, .notBegun, .behind]),
        (
            .midway(since: earlier),
            [.midway(since: later), .drained, .midway(since: earlier), .adopting(since: earlier), .behind]
        ),
        (.drained, [.midway(since: later), .drained, .behind, .readopting, .drained]),
    ]

    @Test("Each event takes each phase of a feed where the table says") func everyTransition() {
        for (phase, following) in Self.phases {
            #expect(following.count == Self.events.count)
            for (event, expected) in zip(Self.events, following) {
                var next = phase
                next.handle(event)
                #expect(next == expected, "\(phase) after \(event)")
            }
        }
    }

    @Test("A new feed reaches every phase, and no other") func everyPhase() {
        var found: [FeedPhase] = [TypeState().phase]
        var index = 0
        while index < found.count {
            for event in Self.events {
                var next = found[index]
                next.handle(event)
                // The time is no part of the phase that counts here.
                if case .adopting = next { next = .adopting(since: Self.earlier) }
                if case .midway = next { next = .midway(since: Self.earlier) }
                if !found.contains(next) { found.append(next) }
            }
            index += 1
        }
        #expect(found.count == Self.phases.count)
        #expect(Self.phases.allSatisfy { found.contains($0.0) })
    }

    @Test("A phase tells what may be sent, and what is held back") func meaning() {
        let told = Self.phases.map { phase, _ in [phase.isAdopted, phase.isDrained, phase.arrivingSince != nil] }
        #expect(
            told == [
                [false, false, false], [false, false, true], [false, true, false], [true, false, false],
                [true, false, true], [true, true, false],
            ])
    }

    // MARK: History, pulls, doubt, visibility

    @Test(
        "A skipped import passes its baseline where the feed has shown others' samples, and another bound begins ahead of its own"
    )
    func history() {
        var history = FeedHistory()
        (history.windowsDone, history.isInOrder) = (Self.earlier, true)
        history.noteShown()
        history.noteEnd()
        #expect(history.bound == .none && !history.isPastBaseline)
        history.replaceBound(.skipped(at: Self.earlier, baseline: .ahead))
        #expect(history.windowsDone == nil && !history.isInOrder)
        #expect(history.skipped == Self.earlier && history.horizon == nil && !history.isPastBaseline)
        history.noteEnd()
        #expect(!history.isPastBaseline)
        history.noteShown()
        #expect(!history.isPastBaseline)
        history.noteEnd()
        #expect(history.isPastBaseline)
        history.noteBeginning()
        #expect(!history.isPastBaseline && history.skipped == Self.earlier)
        history.noteEnd()
        #expect(!history.isPastBaseline)
        history.replaceBound(.from(Self.later))
        history.noteShown()
        history.noteEnd()
        #expect(history.horizon == Self.later && history.skipped == nil && !history.isPastBaseline)
    }

    @Test("A refusal stays until a pull succeeds, whatever fails meanwhile") func pulls() {
        let (first, second) = (
            PullFailure(issue: SyncIssue(.delayed, "first")), PullFailure(issue: SyncIssue(.delayed, "second"))
        )
        let steps: [(PullHealth, refused: PullHealth, failed: PullHealth, forgotten: PullHealth)] = [
            (.well, .refused(nil), .failing(second), .well),
            (.failing(first), .refused(first), .failing(second), .well),
            (.refused(nil), .refused(nil), .refused(second), .refused(nil)),
            (.refused(first), .refused(first), .refused(second), .refused(nil)),
        ]
        for step in steps {
            func after(_ change: (inout PullHealth) -> Void) -> PullHealth {
                var health = step.0
                change(&health)
                return health
            }
            #expect(after { $0.refuse() } == step.refused)
            #expect(after { $0.fail(second) } == step.failed)
            #expect(after { $0.forgetFailure() } == step.forgotten)
            #expect(after { $0.succeed() } == .well)
            let retried = after { $0.retry(at: Self.later) }
            #expect(retried.isRefused == step.0.isRefused)
            #expect(retried.failure?.nextTry == step.0.failure.map { _ in Self.later })
        }
    }

    @Test("Doubt ends with a whole comparison, and what was shown again stays known") func doubt() {
        let steps: [(Doubt, seen: Doubt, ended: Doubt)] = [
            (.none, .none, .none), (.open(since: 3), .seenAgain(since: 3), .none),
            (.seenAgain(since: 3), .seenAgain(since: 3), .confirmed), (.confirmed, .confirmed, .confirmed),
        ]
        for step in steps {
            var (begun, seen, ended) = (step.0, step.0, step.0)
            begun.begin(at: 9)
            seen.see()
            ended.end()
            #expect(begun == .open(since: 9) && seen == step.seen && ended == step.ended)
        }
        #expect(steps.map(\.0.isOpen) == [false, true, true, false])
        #expect(steps.map(\.0.isSeenAgain) == [false, false, true, true])
        #expect(steps.map(\.0.unseenSince) == [nil, 3, nil, nil])
    }

    @Test("Access is suspected to be revoked once everything vanished twice in a row") func visibility() {
        let steps: [(Visibility, vanished: Visibility)] = [
            (.shown, .vanished(at: Self.later)), (.vanished(at: Self.earlier), .vanishedAgain(at: Self.later)),
            (.vanishedAgain(at: Self.earlier), .vanishedAgain(at: Self.later)),
        ]
        for step in steps {
            var (vanished, shown) = (step.0, step.0)
            vanished.look(at: Self.later, hasVanished: true)
            shown.look(at: Self.later, hasVanished: false)
            #expect(vanished == step.vanished && shown == .shown)
        }
        #expect(steps.map(\.0.isRevoked) == [false, false, true])
    }

    // MARK: Leases and operations

    @Test("A lease's token rises with each new holder, and stays where it is renewed or released") func lease() {
        let mark = EngineMark(space: "", process: 1, start: 1, engine: 1)
        let (ours, theirs) = (Lease.Owner(name: "ours", mark: mark), Lease.Owner(name: "theirs", mark: mark))
        var lease = Lease()
        #expect(lease.state == .free && lease.token == 0)
        lease.take(by: ours, with: nil, until: Self.earlier)
        #expect(lease.state == .held(by: ours, until: Self.earlier) && lease.token == 1)
        #expect(lease.isHeld(with: 1, beyond: Self.time(0)) && !lease.isHeld(with: 1, beyond: Self.earlier))
        #expect(!lease.isHeld(with: 2, beyond: Self.time(0)) && !lease.isHeld(with: nil, beyond: Self.time(0)))
        lease.take(by: ours, with: 1, until: Self.later)
        #expect(lease.state == .held(by: ours, until: Self.later) && lease.token == 1)
        lease.take(by: theirs, with: nil, until: Self.later)
        #expect(lease.state == .held(by: theirs, until: Self.later) && lease.token == 2)
        // The former holder's token is no longer the lease's.
        lease.take(by: ours, with: 1, until: Self.later)
        #expect(lease.token == 3)
        lease.release()
        #expect(lease.state == .free && lease.token == 3 && !lease.isHeld(with: 3, beyond: Self.time(0)))
        lease.take(by: theirs, with: nil, until: Self.later)
        #expect(lease.token == 4)
    }

    @Test("Each step of an operation sets its state, reason, time and attempts") func operation() {
        var options = SyncOptions()
        (options.random, options.quickAttempts) = ({ 0.5 }, 2)
        let starts: [PendingOperation.State] = [.waiting, .parked, .quarantined]
        for start in starts {
            let operation = PendingOperation(
                peer: "peer", kind: .save, sample: SampleID(), version: 1, state: start, reason: "before")
            func after(_ change: (inout PendingOperation) -> Void) -> PendingOperation {
                var operation = operation
                change(&operation)
                return operation
            }
            let sent = after { $0.send(as: 7) }
            #expect(sent.isSent && sent.version == 7 && sent.state == start)
            let blocked = after { $0.waitForAccess(to: .bodyMass) }
            #expect(blocked.state == .parked && blocked.nextTry == .distantFuture && blocked.accessType == .bodyMass)
            let refused = after { $0.quarantine("why") }
            #expect(refused.state == .quarantined && refused.reason == "why" && refused.attempts == 0)
            for reason in ParkReason.allCases {
                let parked = after { $0.park(reason, of: .bodyMass, until: Self.later) }
                #expect(parked.state == .parked && parked.reason == reason.rawValue && parked.nextTry == Self.later)
                #expect(parked.accessType == (reason == .unauthorized ? .bodyMass : nil) && parked.attempts == 0)
            }
            let busy = after { $0.comeAgain(at: Self.later) }
            #expect(busy.state == start && busy.nextTry == Self.later && busy.attempts == 0)
            var failed = after { $0.fail("why", at: Self.later, options) }
            #expect(failed.state == .waiting && failed.attempts == 1)
            #expect(failed.nextTry == Self.later + options.firstDelay)
            failed.fail("why", at: Self.later, options)
            #expect(failed.state == .parked && failed.attempts == 2)
            #expect(failed.nextTry == Self.later + options.slowDelay)
            failed.wake()
            #expect(failed.state == .waiting && failed.attempts == 2 && failed.nextTry == .distantPast)
            failed.retry()
            #expect(failed.state == .waiting && failed.attempts == 0)
        }
    }

    @Test("What is stored of a type comes back as it was") func stored() throws {
        for (phase, _) in Self.phases {
            var state = TypeState()
            state.phase = phase
            state.history.replaceBound(.skipped(at: Self.later, baseline: .passed))
            state.history.choice = FeedHistory.Choice(planned: .days(3), requested: .ask, time: Self.earlier)
            state.pulls = .refused(nil)
            state.doubt = .seenAgain(since: 3)
            state.visibility = .vanished(at: Self.later)
            let bytes = try EngineNotes.encode(state)
            #expect(EngineNotes.decode(bytes, as: TypeState.self) == state)
        }
    }

    @Test("The note of a peer is the same whether its lines are kept or made again, and comes back as it was")
    func peerNote() throws {
        var state = PeerState(isEnabled: true, epoch: 7)
        for type in [SampleType.bodyMass, .stepCount, .heartRate] { state[type].imported = 3 }
        state.note(.invalidSamples, "a line\nand \"another\"", at: Self.later)
        var note = try PeerNote(state, after: nil)
        #expect(PeerNote(decoding: note.bytes).state == state)
        let changes: [(inout PeerState) -> Void] = [
            { $0[.stepCount].imported = 4 }, { $0.types[SampleType.heartRate.identifier] = nil }, { $0.failures = 2 },
            { $0[.bodyFatPercentage].lastLook = Self.later }, { $0.types = [:] },
        ]
        for change in changes {
            change(&state)
            // Both the written note and one that was read again keep the lines.
            let again = try PeerNote(state, after: PeerNote(decoding: note.bytes))
            note = try PeerNote(state, after: note)
            #expect(try note.bytes == PeerNote(state, after: nil).bytes && again.bytes == note.bytes)
            #expect(PeerNote(decoding: note.bytes).state == state)
        }
    }

    @Test("A damaged line of one type leaves the choice of the others, and a damaged first line leaves all choices")
    func damagedLine() throws {
        var state = PeerState(isEnabled: true, epoch: 7)
        let choice = FeedHistory.Choice(planned: .days(3), requested: .ask, time: Self.earlier)
        for type in [SampleType.bodyMass, .stepCount] { state[type].history.choice = choice }
        let text = String(decoding: try PeerNote(state, after: nil).bytes, as: UTF8.self)
        let lines = text.split(separator: "\n").map(String.init)
        #expect(lines.count == 3)
        for broken in 0..<3 {
            var damaged = lines
            damaged[broken] = "{"
            let left = PeerNote(decoding: Array(damaged.joined(separator: "\n").utf8)).state
            #expect(left.epoch == PeerState.damagedEpoch && left.isEnabled == (broken != 0))
            #expect(left.types.count == (broken == 0 ? 2 : 1))
            #expect(left.types.values.allSatisfy { $0.history.choice == choice })
        }
    }
}
