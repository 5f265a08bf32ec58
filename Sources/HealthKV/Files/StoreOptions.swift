import HealthModel
import LMDB

/// The options for opening a store. Every field has a usable default.
public struct StoreOptions: Sendable {
    /// The source of samples that are saved with `Source.thisApp`. An app passes its bundle and name. A process
    /// that opens the store without a source, such as an extension of the app, writes under the source of the app
    /// that keeps the store.
    public var source = Source.thisApp
    /// Opens for reading only; no byte of the data file is ever changed. If a process was killed while it replaced
    /// the file (``SampleStore/compactInPlace()``) and the folder is writable, opening gives the compacted file its
    /// name, as any opening does: the content is the same, and without that the store could not be read.
    public var readOnly = false
    /// Creates the folder and the store if there is none.
    public var createIfMissing = true
    /// Address space to reserve for the file, which stays as small as its data. It is halved if the system cannot
    /// provide as much, and grows when needed.
    public var mapSize = 32 << 30
    /// The largest size that the file may grow to; `nil` for ``mapSize``. Saving stops a little below, so that
    /// deleting still works.
    public var sizeLimit: Int?
    /// How long a write waits for readers of this process when the map must grow, before it gives up.
    public var growthTimeout: Duration = .seconds(5)
    /// How long one read may last; `nil` for no limit. A longer read throws at the next chunk that it reads.
    public var readTimeLimit: Duration?
    /// Hazards to tolerate that are otherwise refused.
    public var tolerated: Tolerance = []
    /// Called with each notice, on the thread that posts it.
    public var onNotice: (@Sendable (StoreNotice) -> Void)?
    /// The wall clock.
    public var clock: @Sendable () -> Instant = SystemClock.now
    /// How many days tombstones are kept at least, and resolved conflicts at most.
    public var tombstoneDays = 400
    /// How long the writing thread waits for work before it ends.
    public var idlePeriod: Duration = .seconds(2)
    /// Whether unfinished work continues by itself when the writer is idle. Otherwise, call
    /// ``SampleStore/maintain(budget:)``.
    public var maintainsWhenIdle = true
    /// The data protection class of the store's folder, of all files in it and of copies made of it, on Apple's
    /// systems; `nil` leaves it to the app's entitlement. Each opening for writing sets it; a notice reports what
    /// cannot be set.
    public var fileProtection: FileProtection?
    /// The cipher that seals what the store holds; `nil` for a store that is not sealed. A store is made sealed or not,
    /// and stays so. Opening it with another key, or without one, throws ``StoreError/Code/wrongKey``.
    public var sealer: (any StoreSealer)?
    /// Whether backups of the device exclude the store's folder, on Apple's systems. By default they do: a backup takes
    /// health data off the device, and a store that syncs gets its samples back from its peers. Pass `false` for a
    /// store without peers, so that a new device can restore it; `nil` leaves the folder unchanged. Each opening for
    /// writing sets it. Copies of the store are not excluded with it.
    public var isExcludedFromBackup: Bool? = true

    /// Hazards that an app may tolerate at its own risk.
    public struct Tolerance: OptionSet, Sendable {
        public let rawValue: Int
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// A folder or file that belongs to another user.
        public static let foreignOwner = Tolerance(rawValue: 1)
        /// NFS, SMB, 9p, FUSE: safe only if one process at a time uses the store and the file system maps files
        /// faithfully.
        public static let remoteFileSystem = Tolerance(rawValue: 2)
    }

    package var limits = EngineLimits()

    /// Creates the default options; change those that should differ.
    public init() {}
}

extension StoreOptions {
    /// Throws if an option has a value that makes no sense.
    func check(_ path: String) throws(StoreError) {
        try StoreError.require(mapSize, 1, "option mapSize", path: path)
        if let sizeLimit { try StoreError.require(sizeLimit, 1, "option sizeLimit", path: path) }
        try StoreError.require(tombstoneDays, 0, "option tombstoneDays", path: path)
        let periods = [
            (growthTimeout, "growthTimeout"), (readTimeLimit ?? .zero, "readTimeLimit"), (idlePeriod, "idlePeriod"),
        ]
        for (period, name) in periods where period < .zero {
            throw StoreError(.invalidArgument, path: path, "The option \(name) is below zero")
        }
    }
}
