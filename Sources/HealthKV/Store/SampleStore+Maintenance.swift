import HealthModel

// The care of the file: upkeep, rebuilding, compaction, copies, suspension.
extension SampleStore {
    /// Returns a description of the store and of how its file is used. Walks the leaves of every table to measure their
    /// fill.
    public func info() throws -> StoreInfo {
        try checkOpen()
        return try StoreInfo(of: core)
    }

    /// Returns counts and sizes for a live view, without a walk through the tables.
    package func activity() throws -> StoreActivity {
        try checkOpen()
        return try StoreActivity(of: core)
    }

    /// Does unfinished work (mass operations, the identity index, summaries, old tombstones) for about `budget`, in
    /// small commits. Returns `true` if any remains.
    @discardableResult
    public func maintain(budget: Duration = .seconds(1)) throws -> Bool {
        try checkWritable()
        let deadline = ContinuousClock.now + budget
        while ContinuousClock.now < deadline {
            if try !core.onWriter({ [core] in try Upkeep.maintainStep(in: core) }) { return false }
        }
        return true
    }

    /// Rebuilds every derived table and mark from the primary ones. The identity index, counts, shadow marks, the
    /// contents of queues and the look-up of links are rebuilt in one transaction, so either all of them are new or
    /// nothing changes. Then short transactions rebuild the summaries. Readers are never blocked.
    public func rebuild() throws { try rebuild {} }

    /// - Parameter step: Called between the parts of the work; an error that it throws ends it.
    func rebuild(_ step: @escaping @Sendable () throws -> Void) throws {
        try checkWritable()
        try Rebuild.all(in: core, step)
    }

    /// Defines a type of the app's own, and returns it. The store keeps the definition. To define it again changes
    /// nothing, so an app does it at each launch. Range and name may change later, but not the unit and how values
    /// combine, because what is stored follows from them.
    ///
    /// ```swift
    /// let mood = try store.define(
    ///     TypeDefinition("app.example.mood", unit: .count, combining: .mean, range: 1...5, name: "Mood"))
    /// ```
    ///
    /// A type may be defined after its first samples came, perhaps from another phone, if they are in units of the same
    /// dimension. All stores of a process must define a type alike. Peers get the samples and not the definition: each
    /// app defines its types itself. HealthKit knows no other types than its own and gets none of them.
    ///
    /// - Throws: `ModelError` if the definition is not suitable, ``StoreError`` if it does not fit what is stored.
    @discardableResult
    public func define(_ definition: TypeDefinition) throws -> SampleType {
        let known = try blockingRead { try $0.definitions() }.first { $0.identifier == definition.identifier }
        // What the store itself says of the type comes first.
        if known?.means(the: definition) ?? true { try Defining.refuseContradiction(definition, path: path) }
        if known != definition { try write { try Defining.define(definition, in: &$0) } }
        // Another store may have brought another range or name meanwhile.
        DefinedTypes.learn([definition])
        return definition.type
    }

    /// Sets whether samples of a type at exactly the same time shadow each other in this store, and updates their
    /// marks.
    public func setShadowing(of type: SampleType, _ isOn: Bool) throws {
        try write { try ShadowMarks.setShadowing(of: type, isOn, in: &$0) }
    }

    /// Replaces the store's file with a compacted copy. This frees unused pages, and with them what deleted samples
    /// left in them; samples that were deleted before can no longer be undeleted. Readers continue meanwhile, and
    /// writers wait; other processes continue with the new file.
    ///
    /// ```swift
    /// try store.write { try $0.purge(.source(Source(bundle: "app.example.old", name: "Old").identity)) }
    /// while try store.maintain() {}
    /// try store.compactInPlace()
    /// ```
    ///
    /// The disk must have room for the copy. The old file's blocks become free once the last of its readers has ended;
    /// a disk may keep their bytes until it reuses them.
    public func compactInPlace() throws {
        try checkWritable()
        try InPlaceCompaction.run(in: core)
    }

    /// Copies the store to a new folder while it is in use. When this returns, the copy is durable, and its pages have
    /// been read back and verified like those of a store that is opened.
    ///
    /// The folder must not exist or must be empty, and must not lie inside the store's own. Wherever the copy is used,
    /// it continues as another replica with a new epoch: change tokens from before are refused, and peers are compared
    /// again. This also holds when its `data.mdb` is copied over the store's to restore it.
    ///
    /// ```swift
    /// try store.backup(to: folder + "-backup")
    /// ```
    ///
    /// - Parameters:
    ///   - folder: The folder of the copy; it is created if it does not exist.
    ///   - progress: Called now and then with the bytes copied so far. Return `false` to stop: then nothing of the copy
    ///     remains, and the error's code is ``StoreError/Code/cancelled``.
    public func backup(to folder: String, progress: ((Int) -> Bool)? = nil) throws {
        try checkOpen()
        try StoreCopy.make(of: core, to: folder, compacting: false, progress)
    }

    /// Copies the store without its free pages to a new folder while it is in use. See
    /// ``backup(to:progress:)-(String,_)``.
    public func compact(to folder: String, progress: ((Int) -> Bool)? = nil) throws {
        try checkOpen()
        try StoreCopy.make(of: core, to: folder, compacting: true, progress)
    }

    /// Copies the store to a new folder under another key, or sealed for the first time, or not sealed, while it is in
    /// use. To go on with the copy, close the store and remove its folder: what was freed may still be in it.
    ///
    /// ```swift
    /// try store.copy(to: folder + "-sealed", sealer: sealer)
    /// ```
    ///
    /// - Parameters:
    ///   - folder: The folder of the copy; it is created if it does not exist.
    ///   - sealer: The cipher of the copy; `nil` for a copy that everybody can read.
    ///   - progress: Called now and then with the bytes copied so far. Return `false` to stop: then nothing of the copy
    ///     remains, and the error's code is ``StoreError/Code/cancelled``.
    public func copy(
        to folder: String, sealer: (any StoreSealer)?, progress: ((Int) -> Bool)? = nil
    ) throws {
        try checkOpen()
        try StoreCopy.reseal(core, to: folder, sealer, progress)
    }

    /// Puts a copy under another key in the place of a store: it seals a store for the first time, changes its key, or
    /// opens it. The store stays the same for its peers, and contents of deleted samples are forgotten, as by
    /// ``compactInPlace()``. No handle of this process may have it open; other processes cannot go on with theirs.
    ///
    /// ```swift
    /// try SampleStore.reseal(at: folder, from: nil, to: sealer)
    /// ```
    ///
    /// Keep both keys until this returns: if the process ends before, the store opens with one of them. The disk must
    /// have room for the copy, and may keep the bytes of the old file until it reuses them.
    ///
    /// - Parameters:
    ///   - folder: The folder of the store.
    ///   - old: The cipher of the store; `nil` if it is not sealed.
    ///   - new: The cipher that it gets; `nil` for a store that everybody can read.
    public static func reseal(at folder: String, from old: (any StoreSealer)?, to new: (any StoreSealer)?) throws {
        try reseal(at: folder, from: old, to: new, EngineLimits())
    }

    static func reseal(
        at folder: String, from old: (any StoreSealer)?, to new: (any StoreSealer)?, _ limits: EngineLimits
    ) throws {
        var options = Options()
        (options.createIfMissing, options.maintainsWhenIdle, options.isExcludedFromBackup) = (false, false, nil)
        (options.sealer, options.limits) = (old, limits)
        let store = try open(at: folder, options: options)
        do {
            try store.core.registry.claim(store.core)
            try InPlaceCompaction.run(in: store.core, sealing: .changed(to: new))
        } catch {
            try? store.close()
            throw error
        }
        try store.close()
    }

    /// Releases every lock and closes the file. Systems demand this of a process that they may stop for a long time
    /// while others run: iOS ends an app that is suspended while it holds a lock in a shared container.
    ///
    /// Waits for queued writes and for readers, even while a write waits for another process. Throws
    /// ``StoreError/Code/busy`` if they do not end in time; then the store is not suspended. Until ``resume()``, every
    /// call throws ``StoreError/Code/suspended``. Other handles of the same folder in this process are suspended, too.
    ///
    /// ```swift
    /// try store.suspend()      // when the scene enters the background
    /// try store.resume()       // when it comes back
    /// ```
    public func suspend(within timeout: Duration = .seconds(4)) throws {
        try checkOpen()
        guard !core.isInsideTransaction else {
            throw StoreError(.nested, path: path, "suspend() was called inside read or write")
        }
        try Suspension.suspend(within: timeout, in: core)
    }

    /// Reopens the file after ``suspend(within:)``.
    public func resume() throws {
        try checkOpen()
        try Suspension.resume(in: core)
    }
}
