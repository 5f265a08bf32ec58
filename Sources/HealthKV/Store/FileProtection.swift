/// How the system keeps the files of a store while the device is locked. iOS and watchOS have these classes, macOS takes them
/// and other systems have none.
///
/// ```swift
/// var options = SampleStore.Options()
/// options.fileProtection = .completeUntilFirstUserAuthentication
/// options.isExcludedFromBackup = true
/// let store = try SampleStore.open(at: folder, options: options)
/// ```
public enum FileProtection: String, Sendable, Hashable, CaseIterable {
    /// Readable from the first unlock after a start of the device on, so also in the background while it is locked.
    case completeUntilFirstUserAuthentication
    /// Readable while the device is unlocked, and while the store stays open. A store cannot be opened while the device is
    /// locked, and ``SampleStore/compactInPlace()``, which opens its file anew, fails then.
    case completeUnlessOpen
    /// Readable while the device is unlocked. A mapped file becomes unreadable a few seconds after the lock, and reading it
    /// ends the process: call ``SampleStore/suspend(within:)`` when the system says that protected data will become
    /// unavailable.
    case complete
    /// Readable from the start of the device on. Not `none`, which Swift would take for `nil` where the option is set.
    case noProtection
}

/// What the options ask the system to note about a folder or file.
package enum StoreAttribute: Hashable, Sendable {
    case protection(FileProtection)
    case excludedFromBackup(Bool)
}
