import ColumnFormat
import Testing

@testable import HealthKV

/// Peers, anchors, links, queues and the audit record live in the transactions of the samples.
@Suite struct PeerTablesTests {
    private func operation(_ peer: PeerID, _ sample: SampleID = SampleID()) -> PendingOperation {
        PendingOperation(peer: peer, kind: .save, sample: sample, version: 1)
    }

    @Test("An anchor and the samples it stands for are there together or not at all (C14)") func together() throws {
        try withStore { store throws in
            let sample = Sample(.stepCount, 1, .count, at: .day(1))
            let anchor = Anchor(peer: "p", type: .stepCount, token: [1], time: .day(1), outcome: "ok")
            #expect(throws: Refusal.self) {
                try store.write { txn in
                    try txn.save(sample)
                    try txn.setAnchor(anchor)
                    throw Refusal()
                }
            }
            #expect(try store.read { try $0.anchors() }.isEmpty)
            try store.write { txn in
                try txn.save(sample)
                try txn.setAnchor(anchor)
            }
            #expect(try store.read { try $0.anchor(peer: "p", type: .stepCount) } == anchor)
            #expect(try store.read { try $0.count() } == 1)
        }
    }

    @Test("Anchors are kept for each peer, type and scope (A13)") func anchors() throws {
        try withStore { store throws in
            let custom = SampleType("com.example.custom")
            let all = ["a", "b"].flatMap { peer in
                [SampleType.stepCount, .bodyMass, custom].flatMap { type in
                    ["", "window"].map { Anchor(peer: peer, type: type, scope: $0, token: [1, 2], time: .day(1)) }
                }
            }
            try store.write { txn in for anchor in all { try txn.setAnchor(anchor) } }
            #expect(Set(try store.read { try $0.anchors() }) == Set(all))
            #expect(try store.read { try $0.anchors(of: "a") }.count == 6)
            var newer = all[0]
            newer.token = [9]
            let changed = newer
            try store.write { txn in
                try txn.setAnchor(changed)
                try txn.removeAnchor(peer: "b", type: custom, scope: "window")
            }
            #expect(try store.read { try $0.anchor(peer: "a", type: .stepCount) } == changed)
            #expect(try store.read { try $0.anchor(peer: "b", type: custom, scope: "window") } == nil)
            #expect(try store.read { try $0.anchor(peer: "b", type: custom) } != nil)
            #expect(try store.read { try $0.anchor(peer: "b", type: SampleType("never.seen")) } == nil)
        }
    }

    @Test("A misspelled type of a feed, a queue or a rule is refused, and nothing is stored") func misspelled() throws {
        try withStore { store throws in
            let wrong = SampleType("StepCount")
            let refusals: [@Sendable (inout WriteTransaction) throws -> Void] = [
                { try $0.setAnchor(Anchor(peer: "p", type: wrong, token: [1], time: .day(1))) },
                { try $0.removeAnchor(peer: "p", type: wrong) },
                { _ = try $0.anchor(peer: "p", type: wrong) },
                {
                    _ = try $0.enqueue(
                        PendingOperation(peer: "p", kind: .save, sample: SampleID(), version: 1), of: wrong)
                },
                { txn in
                    var peer = RegisteredPeer(id: "p", registered: .day(0), lastSeen: .day(0))
                    peer.queue = QueueRule(types: [wrong])
                    try txn.setPeer(peer)
                },
            ]
            for refusal in refusals {
                let error = #expect(throws: StoreError.self) { try store.write { try refusal(&$0) } }
                #expect(error.map { "\($0)".contains("stepCount") } ?? false)
            }
            #expect(try store.read { try $0.anchors() }.isEmpty)
            #expect(try store.read { try $0.peers() }.isEmpty)
        }
    }

    @Test("A link is found from both sides, and a new one takes the place of the sample's old one") func links() throws
    {
        try withStore { store throws in
            let (sample, first, second) = (SampleID(), SampleID(), SampleID())
            let old = PeerLink(peer: "p", sample: sample, idAtPeer: first, version: 1, isProvisional: true)
            let new = PeerLink(peer: "p", sample: sample, idAtPeer: second, version: 2)
            let other = PeerLink(peer: "q", sample: sample, idAtPeer: first, version: 1)
            try store.write { txn in
                try txn.setLink(old)
                try txn.setLink(other)
            }
            #expect(try store.read { try $0.link(peer: "p", idAtPeer: first) } == old)
            try store.write { try $0.setLink(new) }
            try store.read { txn in
                let (bySample, byOld, byNew) = (
                    try txn.link(peer: "p", sample: sample), try txn.link(peer: "p", idAtPeer: first),
                    try txn.link(peer: "p", idAtPeer: second)
                )
                #expect(bySample == new)
                #expect(byOld == nil)
                #expect(byNew == new)
                let foreign = try txn.link(peer: "q", idAtPeer: first)
                #expect(foreign == other)
            }
            try store.write { try $0.removeLink(new) }
            #expect(try store.read { try $0.link(peer: "p", sample: sample) } == nil)
            #expect(try store.read { try $0.link(peer: "p", idAtPeer: second) } == nil)
        }
    }

    @Test("A link that another sample takes over leaves no second way to the peer's id") func takenOver() throws {
        try withStore { store throws in
            let (first, second, theirs) = (SampleID(), SampleID(), SampleID())
            try store.write { txn in
                try txn.setLink(PeerLink(peer: "p", sample: first, idAtPeer: theirs, version: 1))
                try txn.setLink(PeerLink(peer: "p", sample: second, idAtPeer: theirs, version: 1))
            }
            #expect(try store.read { try $0.link(peer: "p", idAtPeer: theirs) }?.sample == second)
            #expect(try store.read { try $0.link(peer: "p", sample: first) } == nil)
        }
    }

    @Test("Queues keep their order, each peer its own, and places are never given twice") func queues() throws {
        try withStore { store throws in
            let made = try store.write { [self] txn in
                try (0..<6).map { try txn.enqueue(operation($0 % 2 == 0 ? "a" : "b")) }
            }
            #expect(zip(made, made.dropFirst()).allSatisfy { $0.sequence < $1.sequence })
            #expect(try store.read { try $0.pending(for: "a") }.map(\.sample) == [0, 2, 4].map { made[$0].sample })
            #expect(Set(made.map(\.id)).count == 6)
            var parked = made[2]
            parked.attempts = 3
            parked.state = .parked
            parked.reason = "no network"
            parked.nextTry = .day(5)
            let change = parked
            try store.write { txn in
                try txn.updatePending(change)
                try txn.removePending(made[0])
            }
            #expect(
                try store.read { try $0.pending(for: "a") }.map(\.sequence) == [made[2].sequence, made[4].sequence])
            #expect(try store.read { try $0.pending(for: "a") }.first == change)
            #expect(try store.info().pending == 5)
            // Also after the last one went: who remembers a place must not meet another operation there.
            let last = made[4]
            let next = try store.write { [self] txn in
                try txn.removePending(last)
                return try txn.enqueue(operation("a"))
            }
            #expect(next.sequence > last.sequence)
        }
    }

    @Test("Forgetting a peer takes its anchors, links and queue along and no sample") func removePeer() throws {
        try withStore { store throws in
            let sample = Sample(.stepCount, 1, .count, at: .day(1))
            try store.write { [self] txn in
                try txn.save(sample)
                for name: PeerID in ["a", "b"] {
                    try txn.setPeer(RegisteredPeer(id: name, registered: .day(0), lastSeen: .day(0)))
                    try txn.setAnchor(Anchor(peer: name, type: .stepCount, token: [1], time: .day(0)))
                    try txn.setAnchor(Anchor(peer: name, type: .bodyMass, scope: "w", token: [1], time: .day(0)))
                    for _ in 0..<3 {
                        try txn.setLink(PeerLink(peer: name, sample: SampleID(), idAtPeer: SampleID(), version: 1))
                        try txn.enqueue(operation(name))
                    }
                }
            }
            try store.write { try $0.removePeer("a") }
            try store.read { txn in
                let (peers, anchors, pending) = (try txn.peers(), try txn.anchors(), try txn.pending())
                #expect(peers.map(\.id) == ["b"])
                #expect(anchors.allSatisfy { $0.peer == "b" } && anchors.count == 2)
                #expect(pending.allSatisfy { $0.peer == "b" } && pending.count == 3)
                var links = 0
                try txn.forEachRecord(ofTable: "links") { _, _ in links += 1 }
                // Three links in both directions.
                #expect(links == 6)
                let count = try txn.count()
                #expect(count == 1)
            }
            let token = try store.read { $0.currentToken }
            try store.write { try $0.removePeer("nobody") }
            #expect(try store.feed(since: token).isEmpty)
        }
    }

    @Test(
        "How far a peer has read the feed and how far it was sent are kept apart, and the one behind holds tombstones")
    func twoMarks() throws {
        try withStore { store throws in
            let start = try store.read { $0.currentToken }
            try store.save(Sample(.stepCount, 1, .count, at: .day(1)))
            let later = try store.read { $0.currentToken }
            try store.write { try $0.markSent(to: "p", upTo: later) }
            let sent = try #require(try store.read { try $0.peer("p") })
            #expect(sent.read == nil && sent.sent?.place == later && sent.acknowledged == later)
            try store.write { try $0.acknowledge(peer: "p", start) }
            var both = try #require(try store.read { try $0.peer("p") })
            #expect(both.read?.place == start && both.sent?.place == later)
            #expect(both.acknowledged == start && both.furthest == later)
            let queue = QueueRule(types: [.stepCount], takesImports: true)
            both.queue = queue
            let known = both
            try store.write { try $0.setPeer(known) }
            #expect(try store.read { try $0.peer("p") } == known)
            // A side that is silent for half a year, while the other is not, holds nothing back.
            both.sent?.time = (both.read?.time ?? .earliest) + 181 * 86_400_000_000_000
            #expect(both.acknowledged == later)
            both.acknowledged = nil
            #expect(both.read == nil && both.sent == nil)
        }
    }

    @Test(
        "A mark that a wrong clock made lets the other one not look as if it had stood still", arguments: [true, false])
    func marksOfWrongClocks(isAhead: Bool) throws {
        let clock = TestClock()
        var options = SampleStore.Options()
        options.clock = { clock.now }
        let store = try SampleStore.temporary(options: options)
        let place = try store.write { txn in
            _ = try txn.save(Sample(.stepCount, 1, .count, at: .day(1)))
            try txn.acknowledge(peer: "p", txn.currentToken)
            return txn.currentToken
        }
        let (right, year) = (clock.now, 365 * 86_400_000_000_000 as Int64)
        let wrong = isAhead ? year : -20 * year
        clock.advance(by: wrong)
        try store.write { try $0.markSent(to: "p", upTo: place) }
        clock.advance(by: 3_600_000_000_000 - wrong)
        try store.write { try $0.acknowledge(peer: "p", place) }
        let peer = try #require(try store.read { try $0.peer("p") })
        #expect(peer.readInUse != nil)
        #expect(peer.marks.map(\.time).allSatisfy { $0 <= clock.now && $0 >= right - 3_600_000_000_000 })
        try store.close()
    }

    @Test("An acknowledgement only goes forward and must be of this store") func acknowledging() throws {
        try withStore { store throws in
            let start = try store.read { $0.currentToken }
            try store.save(Sample(.stepCount, 1, .count, at: .day(1)))
            let later = try store.read { $0.currentToken }
            try store.write { try $0.acknowledge(peer: "p", later) }
            try store.write { try $0.acknowledge(peer: "p", start) }
            #expect(try store.read { try $0.peer("p") }?.acknowledged == later)
            let foreign = ChangeToken(store: SampleID(), epoch: 1, commit: 1, ordinal: 1, mark: 1)
            expectError(.tokenExpired) { try store.write { try $0.acknowledge(peer: "p", foreign) } }
            #expect(try store.read { try $0.peer("q") } == nil)
        }
    }

    @Test("Audit entries keep their order and what was displaced") func audit() throws {
        try withStore { store throws in
            let ids = (0..<4).map { _ in SampleID() }
            try store.write { txn in
                for id in ids[..<2] { try txn.appendAudit(event: "conflict", sample: id, displaced: [1, 2, 3]) }
            }
            try store.write { txn in
                for id in ids[2...] { try txn.appendAudit(event: "vanished", sample: id, displaced: []) }
            }
            let audit = try store.read { try $0.audit() }
            #expect(audit.map(\.sample) == ids)
            #expect(audit.map(\.event) == ["conflict", "conflict", "vanished", "vanished"])
            #expect(audit[0].displaced == [1, 2, 3])
            #expect(audit[1].commit < audit[2].commit)
            #expect(audit[0].ordinal < audit[1].ordinal)
        }
    }

    @Test("Resolved conflicts are forgotten when they are old, and the oldest of very many at once") func boundedAudit()
        throws
    {
        let clock = TestClock()
        var options = tightOptions(clock)
        options.tombstoneDays = 30
        options.limits.auditEntries = 25
        let day = 86_400 * Instant.nanosecondsPerSecond
        try withStore(options: options) { store throws in
            let (ids, later) = ((0..<60).map { _ in SampleID() }, SampleID())
            func afterUpkeep() throws -> [SampleID] {
                while try store.maintain() {}
                return try store.read { try $0.audit() }.map(\.sample)
            }
            try store.write { txn in for id in ids { try txn.appendAudit(event: "conflict", sample: id) } }
            clock.advance(by: 2 * day)
            #expect(try afterUpkeep() == Array(ids.suffix(25)))
            clock.advance(by: 20 * day)
            try store.write { txn in
                _ = try txn.save(Sample(.bodyMass, 70, .kilogram, at: clock.now))
                try txn.appendAudit(event: "conflict", sample: later)
            }
            #expect(try afterUpkeep() == ids.suffix(24) + [later])
            clock.advance(by: 20 * day)
            #expect(try afterUpkeep() == [later])
        }
    }

    @Test(
        "A check finds operations without places, places without operations, links of one side and records that are none"
    )
    func checked() throws {
        let sample = SampleID()
        func findings(_ spoil: @escaping @Sendable (inout WriteTransaction) throws -> Void) throws -> [Finding.Kind] {
            let store = try SampleStore.temporary()
            try store.write { txn in
                try txn.enqueue(operation("a", sample))
                try txn.enqueue(operation("b", sample))
                try txn.setLink(PeerLink(peer: "a", sample: sample, idAtPeer: SampleID(), version: 1))
                try txn.setAnchor(Anchor(peer: "a", type: .stepCount, token: [1], time: .day(1)))
            }
            try store.expectClean()
            try store.write { try spoil(&$0) }
            let found = try store.check().findings.map(\.kind)
            try store.close()
            return found
        }
        #expect(
            try findings { txn in
                let key = PeerKey.place("a", sample, txn.state.header.hashKey)
                try PeerTables.forget(key, as: PendingPlace.self, in: &txn)
            } == [.queueWrong])
        #expect(
            try findings { txn in
                let operation = try txn.pending(for: "b")[0]
                let key = PeerKey.pending("b", 1, operation.sequence, txn.state.header.hashKey)
                try PeerTables.forget(key, as: PendingOperation.self, in: &txn)
                // The place leads nowhere, and the count is wrong.
            } == [.queueWrong, .queueWrong])
        #expect(
            try findings { txn in
                let key = LinkKey.recent(PeerKey.peer("a", txn.state.header.hashKey), .bySample, sample)
                try PeerTables.forget(key, as: RecentLink.self, in: &txn)
            } == [.linksDiffer])
        #expect(
            try findings { txn in
                let number = try NameTable.number(of: .stepCount, in: txn.snapshot)!
                let key = PeerKey.anchor("a", number, "", txn.state.header.hashKey)
                var record = RecordWriter()
                record.append(7 as UInt8)
                try txn.put(.anchors, key, record.value(table: .anchors, key: key, stamp: txn.stamp))
            } == [.recordUnreadable])
    }
}
