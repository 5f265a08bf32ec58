import Testing

@testable import HealthKV

/// Editing and deleting imported samples (SEMANTICS C7).
@Suite struct OverlayTests {
    private let pulled = Sample(
        .bodyMass, 80, .kilogram, from: .day(1), to: .day(1),
        source: Source(bundle: "com.example.scale", name: "Scale"),
        id: SampleID(high: 7, low: 9), syncIdentifier: "weight-1", version: 3, origin: .imported)

    @Test("C7: an edit lies over an import; the next pull changes what lies beneath and not the edit")
    func overlay() throws {
        try withStore { store in
            try store.save(pulled)
            let outcome = try store.write { try $0.overlay(id: pulled.id) { $0.quantity = Quantity(79.2, .kilogram) } }
            #expect(outcome == .replaced)
            #expect(try store.save(pulled) == .unchanged)
            var newer = pulled
            newer.version = 4
            newer.quantity.value = 81
            #expect(try store.save(newer) == .replaced)
            let read = try #require(try store.read { try $0.sample(id: pulled.id) })
            #expect(read.quantity.value == 79.2 && read.origin == .imported)
            #expect(read.original?.quantity.value == 81 && read.original?.version == 4)
            #expect(try store.save(pulled) == .older)
            // What leaves for HealthKit is what came from there.
            #expect(read.shared.quantity.value == 81 && read.shared.original == nil)
        }
    }

    @Test("C7: an edit that changes nothing lays nothing over an import, whose next version is shown")
    func nothing() throws {
        try withStore { store in
            try store.save(pulled)
            let outcome = try store.write { try $0.overlay(id: pulled.id) { $0.quantity = Quantity(80, .kilogram) } }
            #expect(outcome == .unchanged)
            var newer = pulled
            newer.version = 4
            newer.quantity.value = 81
            #expect(try store.save(newer) == .replaced)
            let read = try #require(try store.read { try $0.sample(id: pulled.id) })
            #expect(read.quantity.value == 81 && read.original == nil)
        }
    }

    @Test("C7: an edit changes what an overlay can be taken off again from; the rest is as it was imported last")
    func restOfImport() throws {
        try withStore { store in
            try store.save(pulled)
            try store.write { txn in
                _ = try txn.overlay(id: pulled.id) {
                    ($0.quantity.value, $0.timeZone, $0.count, $0.group) = (79, "Asia/Kathmandu", 7, "mine")
                    $0.device = Device(name: "Mine")
                }
            }
            let edited = try #require(try store.read { try $0.sample(id: pulled.id) })
            #expect(edited.quantity.value == 79 && edited.timeZone == nil && edited.count == 1)
            #expect(edited.group == nil && edited.device == nil)
            var newer = pulled
            newer.version = 4
            newer.device = Device(name: "New scale")
            newer.timeZone = "Europe/Paris"
            #expect(try store.save(newer) == .replaced)
            #expect(try store.save(newer) == .unchanged)
            #expect(try store.write { try $0.removeOverlay(id: pulled.id) })
            let bare = try #require(try store.read { try $0.sample(id: pulled.id) })
            #expect(bare.quantity.value == 80 && bare.device?.name == "New scale" && bare.timeZone == "Europe/Paris")
        }
    }

    @Test("C7: an overlay can be taken off again, and an authored sample has none")
    func removal() throws {
        try withStore { store in
            try store.save(pulled)
            try store.write {
                _ = try $0.overlay(id: pulled.id) {
                    $0.note = "wrong shoes"; $0.quantity.value = 1
                }
            }
            #expect(try store.write { try $0.removeOverlay(id: pulled.id) })
            let read = try #require(try store.read { try $0.sample(id: pulled.id) })
            #expect(read.quantity.value == 80 && read.original == nil && read.note == "wrong shoes")
            #expect(try store.write { try $0.removeOverlay(id: pulled.id) } == false)
            let own = Sample(.bodyMass, 70, .kilogram, at: .day(3))
            try store.save(own)
            #expect(try store.write { try $0.overlay(id: own.id) { $0.quantity.value = 1 } } == nil)
            #expect(try store.write { try $0.overlay(id: SampleID()) { _ in } } == nil)
        }
    }

    @Test(
        "C7: when an edit is taken off, the import has the version of its source again, and the store goes on from that"
    )
    func shownVersion() throws {
        try withStore { store in
            try store.save(pulled)
            try store.write { txn in
                _ = try txn.overlay(id: pulled.id) { $0.quantity.value = 79 }
                try txn.removeOverlay(id: pulled.id)
            }
            let bare = try #require(try store.read { try $0.sample(id: pulled.id) })
            #expect(bare.version == 3 && bare.reversion?.version == 5)
            var newer = pulled
            (newer.version, newer.quantity.value) = (4, 81)
            #expect(try store.save(newer) == .replaced)
            #expect(try store.write { try $0.overlay(id: pulled.id) { $0.quantity.value = 78 } } == .replaced)
            let edited = try #require(try store.read { try $0.sample(id: pulled.id) })
            #expect(edited.version == 6 && edited.reversion == nil && edited.original?.version == 4)
        }
    }

    @Test("C7: a hidden import never comes back, whatever its version, until it is shown again")
    func hiding() throws {
        try withStore { store in
            try store.save(pulled)
            #expect(try store.write { try $0.hide(id: pulled.id) })
            for version in [3, 4, 1_000_000] as [Int64] {
                var again = pulled
                again.version = version
                #expect(try store.save(again) == .vetoed)
                again.id = SampleID()
                #expect(try store.save(again) == .vetoed)
                again.modified = ChangeClock(time: .latest - 1, replica: 9)
                let merged = again
                #expect(try store.write { try $0.merge(merged) } == .vetoed)
            }
            #expect(try store.read { try $0.deletedSample(id: pulled.id) }?.isHidden == true)
            #expect(try store.write { try $0.unhide(id: pulled.id) })
            #expect(try store.save(pulled) == .inserted)
            #expect(try store.write { try $0.unhide(id: pulled.id) } == false)
        }
    }

    @Test("C7: a hidden import stays hidden when tombstones of its age are forgotten")
    func hiddenForGood() throws {
        let clock = TestClock()
        var options = tightOptions(clock)
        options.tombstoneDays = 30
        try withStore(options: options) { store in
            try store.save(pulled)
            let other = Sample(.bodyMass, 70, .kilogram, at: .day(3))
            try store.save(other)
            try store.write { txn in
                try txn.hide(id: pulled.id)
                try txn.delete(id: other.id)
            }
            clock.advance(by: 500 * 86_400 * Instant.nanosecondsPerSecond)
            // A clock is believed once something has been written by it, thirty days at a time.
            for _ in 0..<3 {
                clock.advance(by: 2 * 86_400 * Instant.nanosecondsPerSecond)
                try store.save(Sample(.bodyMass, 71, .kilogram, at: .day(4)))
                while try store.maintain() {}
            }
            #expect(try store.read { try $0.deletedSample(id: other.id) } == nil)
            #expect(try store.save(pulled) == .vetoed)
        }
    }

    @Test("C7: an import that is deleted stays deleted, whatever version comes and however long ago that was")
    func deleted() throws {
        let deletions: [@Sendable (inout WriteTransaction, Sample) throws -> Void] = [
            { _ = try $0.delete(id: $1.id) }, { txn, _ in _ = try txn.delete(.range(of: .bodyMass)) },
            { _ = try $0.delete(.source($1.source.identity)) },
        ]
        for delete in deletions {
            let clock = TestClock()
            var options = tightOptions(clock)
            options.tombstoneDays = 30
            try withStore(options: options) { store in
                let pulled = pulled
                try store.save(pulled)
                try store.write { try delete(&$0, pulled) }
                #expect(try store.read { try $0.deletedSample(id: pulled.id) }?.isHidden == true)
                var edited = pulled
                edited.version = pulled.version + 5
                #expect(try store.save(edited) == .vetoed)
                clock.advance(by: 60 * 86_400 * Instant.nanosecondsPerSecond)
                while try store.maintain() {}
                #expect(try store.save(pulled) == .vetoed)
                #expect(try store.write { try $0.unhide(id: pulled.id) })
                #expect(try store.save(pulled) == .inserted)
            }
        }
    }

    @Test("C22: an import that its peer deleted may come back with a greater version")
    func deletedByPeer() throws {
        try withStore { store in
            let pulled = pulled
            try store.save(pulled)
            try store.write { _ = try $0.delete(id: pulled.id, version: 1) }
            #expect(try store.save(pulled) == .vetoed)
            var edited = pulled
            edited.version = max(1, pulled.version) + 1
            #expect(try store.save(edited) == .inserted)
        }
    }

    @Test("Only imports are hidden; what was written here is deleted")
    func authored() throws {
        try withStore { store in
            let own = Sample(.bodyMass, 70, .kilogram, at: .day(3))
            try store.save(own)
            #expect(try store.write { try $0.hide(id: own.id) } == false)
            try store.write { _ = try $0.delete(id: own.id) }
            #expect(try store.read { try $0.deletedSample(id: own.id) }?.isHidden == false)
        }
    }
}
