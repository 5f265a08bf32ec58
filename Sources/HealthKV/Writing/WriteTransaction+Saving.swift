import ColumnFormat
import HealthModel

extension WriteTransaction {
    /// Sets the order in which the sources of a type win time from each other, or resets it to the default with `nil`.
    ///
    /// Sources that the order does not name follow in the default order: typed in by the user, watch, phone, others;
    /// among equals, the one that the store met last comes first. Statistics reflect the change immediately.
    ///
    /// ```swift
    /// try store.write { txn in
    ///     try txn.setPriority([RankedSource(SourceIdentity(name: "Phone"))], of: .stepCount)
    /// }
    /// ```
    public mutating func setPriority(_ order: [RankedSource]?, of type: SampleType) throws {
        guard (order ?? []).count <= PriorityRecord.orderLimit else {
            throw ModelError.numberOutOfRange(field: "sources of an order")
        }
        for place in order ?? [] {
            for text in [place.source.name, place.source.bundle] where text.utf8.count > Sample.textLimit {
                throw ModelError.malformedText(field: "source")
            }
        }
        try whole { transaction in
            try type.validate()
            let number = try NameTable.number(of: type, in: &transaction)
            var record = try PriorityTable.priorities(in: transaction.snapshot)
            guard record.orders[number] != order else { return }
            record.orders[number] = order
            PriorityTable.put(record, in: &transaction)
            try PriorityTable.markAllStale(number, in: &transaction)
            if try ShadowMarks.shadows(number, in: transaction) {
                try ShadowMarks.rebuildShadows(of: number, in: &transaction)
            }
        }
    }

    /// Records which changes `body` makes, so that ``undo(_:)`` can undo exactly those.
    ///
    /// ```swift
    /// let token = try store.write { txn in
    ///     try txn.recordingUndo { try $0.delete(.group("lunch")) }
    /// }
    /// // The person has changed his mind.
    /// let report = try store.write { try $0.undo(token) }
    /// ```
    public mutating func recordingUndo(_ body: (inout WriteTransaction) throws -> Void) throws -> UndoToken {
        let (header, first) = (state.header, state.ordinal)
        try body(&self)
        return UndoToken(
            store: header.storeID, epoch: header.epoch, commit: commit, mark: state.mark, first: first,
            end: state.ordinal)
    }

    /// Undoes the changes of a call, unless they were changed again since. Samples that the call deleted live again, as
    /// by ``undelete(id:)``, and samples that an app saved in it for the first time are deleted.
    ///
    /// Not undone are edits and overlays, because the earlier content is not kept; imports, because nothing says
    /// whether one replaced an earlier sample; purges; and deletions that ``undelete(id:)`` cannot undo, such as those
    /// of a range or a source. ``UndoReport/left`` counts them, a range as one. Samples that were changed again since
    /// stay as they are and are not counted. What is no sample is never undone: peers, queues, anchors, links, totals,
    /// notes, priorities and settings.
    ///
    /// - Throws: ``StoreError/Code/tokenExpired`` if the store no longer knows all deletions since then, or if it was
    ///   restored.
    @discardableResult
    public mutating func undo(_ token: UndoToken) throws -> UndoReport {
        if token.first == token.end { return UndoReport() }
        let place = ChangeToken(
            store: token.store, epoch: token.epoch, commit: token.commit, ordinal: .max, mark: token.mark)
        guard token.commit < commit, try ChangeLog.fit(of: place, in: snapshot) == .fits else {
            throw StoreError(
                .tokenExpired, path: context.path, "The changes to undo are not in the history of this store")
        }
        return try Undo.undo(
            commit: token.commit, token.first..<max(token.first, token.end), store: token.store, epoch: token.epoch,
            in: &self)
    }

    /// Undoes all changes of a commit, as ``undo(_:)`` does for a call. The feed gives the commit of each change.
    ///
    /// Calls that write at the same time may share a commit, including those of a sync; use ``recordingUndo(_:)`` to
    /// undo only one of them. A sample that a sync brought from another store in its first version looks like one that
    /// this app saved: undoing the commit deletes it, and the deletion reaches that store, too. What ``undo(_:)``
    /// leaves out cannot be undone here either, and a commit that the store no longer knows cannot be undone at all.
    ///
    /// - Throws: ``StoreError/Code/tokenExpired`` if the store no longer knows all deletions since then.
    @discardableResult
    public mutating func undo(commit: UInt64) throws -> UndoReport {
        try Undo.undo(commit: commit, 0..<UInt32.max, store: state.header.storeID, epoch: state.header.epoch, in: &self)
    }

    /// Makes a group consist of exactly these samples: saves them, and deletes the other samples of the group. All or
    /// nothing.
    ///
    /// Saving a changed meal again edits the samples that changed. A nutrient that is left out is deleted; one that
    /// returns to a group that still lives gets a greater version. A group that was deleted as a whole stays deleted.
    /// Another app may use the same text for a group, so only samples of the sources of these samples count (SEMANTICS
    /// C4), or of this app if `samples` is empty.
    @discardableResult
    public mutating func save(group: String, _ samples: [Sample]) throws -> [SaveOutcome] {
        try GroupSaving.save(group: group, samples, ifNone: .thisApp, in: &self)
    }

    /// Saves a group as ``save(group:_:)`` does, and throws ``StoreError/Code/notStored`` for the first sample of which
    /// nothing was stored; then the group is as it was.
    ///
    /// - Parameters:
    ///   - group: the group.
    ///   - samples: all its samples.
    ///   - orThrow: `false` to return the outcomes instead of throwing.
    @discardableResult
    public mutating func save(group: String, _ samples: [Sample], orThrow: Bool) throws -> [SaveOutcome] {
        try whole { transaction in
            let outcomes = try transaction.save(group: group, samples)
            if orThrow { try transaction.requireStored(samples, outcomes) }
            return outcomes
        }
    }

    /// Saves a meal with all its nutrients: see ``save(group:_:)``.
    ///
    /// - Parameters:
    ///   - meal: the meal.
    ///   - source: the source of its samples.
    ///   - orThrow: `true` to throw ``StoreError/Code/notStored`` if nothing was stored of a nutrient, as of a meal
    ///     that was deleted; then the meal is as it was. Otherwise the outcome says so.
    @discardableResult
    public mutating func save(_ meal: Meal, source: Source = .thisApp, orThrow: Bool = false) throws -> [SaveOutcome] {
        let samples = meal.samples(source: source)
        return try whole { transaction in
            let outcomes = try GroupSaving.save(group: meal.id, samples, ifNone: source, in: &transaction)
            if orThrow { try transaction.requireStored(samples, outcomes) }
            return outcomes
        }
    }

    /// Deletes a meal of a source with all its nutrients, and returns the number of deleted samples. Samples of other
    /// sources under the same id stay.
    ///
    /// ```swift
    /// try store.write { _ = try $0.deleteMeal(id: "log-17") }
    /// ```
    @discardableResult
    public mutating func deleteMeal(id: String, source: Source = .thisApp) throws -> Int {
        try delete(.group(id, source: GroupSaving.resolved(source, in: self).identity))
    }

    /// Lays an edit over an imported sample. The import stays beneath, and later imports change only that.
    ///
    /// ```swift
    /// try store.write { txn in
    ///     guard let weight = try txn.latest(of: .bodyMass), weight.origin == .imported else { return }
    ///     try txn.overlay(id: weight.id) { $0.quantity = Quantity(72.1, .kilogram) }
    /// }
    /// ```
    ///
    /// The change may set times, quantity, metadata, `Sample.isUserEntered` and `Sample.local`; the rest stays as
    /// it was imported. Edit an authored sample by saving it. Returns `nil` for an authored sample, and if there is no
    /// such sample.
    @discardableResult
    public mutating func overlay(id: SampleID, _ change: (inout Sample) -> Void) throws -> SaveOutcome? {
        try Overlays.lay(over: id, change, in: &self)
    }

    /// Removes the edit from an imported sample. The sample is again as it was last imported, with that version, and
    /// keeps its notes (`Sample.local`). No older edit of another store comes back. Returns `false` if no edit lies
    /// over the sample.
    @discardableResult
    public mutating func removeOverlay(id: SampleID) throws -> Bool {
        try Overlays.takeOff(of: id, in: &self)
    }

    /// Hides an imported sample permanently: it is deleted here, no later import or merge brings it back, whatever its
    /// version, and nothing is deleted at its source. Returns `false` if there is no such sample.
    @discardableResult
    public mutating func hide(id: SampleID) throws -> Bool {
        try Overlays.hide(id, in: &self)
    }

    /// Allows a hidden sample to be imported again. Returns `false` if it was not hidden.
    @discardableResult
    public mutating func unhide(id: SampleID) throws -> Bool {
        try Overlays.unhide(id, in: &self)
    }

    /// Saves a sample and returns the outcome.
    ///
    /// A sample is identified by its id, otherwise by its sync identifier within source and type. Equal content changes
    /// nothing. Different content is an edit, with a version one above the stored one unless the sample brings a
    /// greater one. A deleted sample is vetoed unless its version is above the deleted one.
    ///
    /// Two outcomes mean that nothing was stored, and neither throws: ``SaveOutcome/older`` if the store holds a
    /// greater version, ``SaveOutcome/vetoed`` if the sample was deleted. If the data must not be lost silently, check
    /// the outcome: read the sample and save the change on top of it, or give it a new id. A sample with the version 0
    /// is never older. To edit an imported sample use ``overlay(id:_:)``: a sample saved over an import counts as the
    /// next version of the import, and a later pull may replace it.
    ///
    /// An edit keeps the type, the source and the sync identifier, by which peers recognise a sample; an edit of one of
    /// them is refused (``StoreError/Code/identityChanged``). Delete the sample instead, and save a new one. An edit
    /// without a sync identifier, or with the source `Source.thisApp`, keeps the stored one.
    ///
    /// ```swift
    /// let outcome = try store.write { txn in
    ///     try txn.save(Sample(.bodyMass, 72.4, .kilogram, at: now))
    /// }
    /// assert(outcome == .inserted)
    /// ```
    @discardableResult
    public mutating func save(_ sample: Sample) throws -> SaveOutcome {
        try checkRange(of: sample)
        return try whole { try Saving.store(sample, rule: .local, in: &$0) }
    }

    /// Saves a sample that came from elsewhere, whatever value it has.
    package mutating func take(_ sample: Sample) throws -> SaveOutcome {
        try whole { try Saving.store(sample, rule: .local, in: &$0) }
    }

    /// Throws if a new value lies outside the range that the store defines for its type. A value that was there before
    /// may stay, under another note or in another group.
    func checkRange(of sample: Sample) throws {
        if state.definitions.isEmpty { return }
        guard let definition = state.definitions[sample.type.identifier] else { return }
        do { try definition.validate(sample.quantity) } catch {
            guard try self.sample(id: sample.id)?.quantity == sample.quantity else { throw error }
        }
    }

    /// Saves a sample as ``save(_:)-(Sample)`` does, and throws ``StoreError/Code/notStored`` if nothing was stored
    /// although the sample may contain something new: it was deleted, or the store holds a greater version.
    ///
    /// ```swift
    /// let sample = Sample(.bodyMass, 72.4, .kilogram, at: now)
    /// try store.write { try $0.save(sample, orThrow: true) }
    /// ```
    ///
    /// - Parameters:
    ///   - sample: the sample to save.
    ///   - orThrow: `false` to return the outcome instead of throwing.
    @discardableResult
    public mutating func save(_ sample: Sample, orThrow: Bool) throws -> SaveOutcome {
        let outcome = try save(sample)
        if orThrow { try requireStored(sample, outcome) }
        return outcome
    }

    /// Saves several samples in order: all of them, or none if one is refused.
    @discardableResult
    public mutating func save(_ samples: [Sample]) throws -> [SaveOutcome] {
        for sample in samples {
            try sample.validate()
            try checkRange(of: sample)
        }
        var outcomes: [SaveOutcome] = []
        try whole { transaction in
            for sample in samples { outcomes.append(try Saving.store(sample, rule: .local, in: &transaction)) }
        }
        return outcomes
    }

    /// Saves several samples as ``save(_:)-([Sample])`` does, and throws ``StoreError/Code/notStored`` for the first of
    /// which nothing was stored; then none is stored.
    ///
    /// - Parameters:
    ///   - samples: the samples to save.
    ///   - orThrow: `false` to return the outcomes instead of throwing.
    @discardableResult
    public mutating func save(_ samples: [Sample], orThrow: Bool) throws -> [SaveOutcome] {
        try whole { transaction in
            let outcomes = try transaction.save(samples)
            if orThrow { try transaction.requireStored(samples, outcomes) }
            return outcomes
        }
    }

    private func requireStored(_ samples: [Sample], _ outcomes: [SaveOutcome]) throws {
        for (sample, outcome) in zip(samples, outcomes) { try requireStored(sample, outcome) }
    }

    private func requireStored(_ sample: Sample, _ outcome: SaveOutcome) throws {
        guard outcome == .vetoed || outcome == .older else { return }
        let why = outcome == .vetoed ? "was deleted, in that version or a later one" : "is held in a later version"
        throw StoreError(.notStored, path: environment.path, "Sample \(sample.id) \(why)")
    }

    /// Merges a sample as another store holds it: version and clock stay as given, and the greater of (version, clock,
    /// content) wins, so that merging gives the same result in any order.
    @discardableResult
    package mutating func merge(_ sample: Sample) throws -> SaveOutcome {
        try whole { try Saving.store(sample, rule: .merge, in: &$0) }
    }
}
