/// How the system protects the files of a store while the device is locked. iOS and watchOS have these classes, macOS
/// accepts them, and other systems have none.
///
/// ```swift
/// var options = StoreOptions()
/// options.fileProtection = .completeUntilFirstUserAuthentication
/// let store = try SampleStore.open(at: folder, options: options)
/// ```
public enum FileProtection: String, Sendable, Hashable, CaseIterable {
    /// Readable after the first unlock that follows a restart of the device, so also in the background while it is
    /// locked.
    case completeUntilFirstUserAuthentication
    /// Readable while the device is unlocked, and while the store stays open. While the device is locked, a store
    /// cannot be opened, and ``SampleStore/compactInPlace()`` fails because it reopens the file.
    case completeUnlessOpen
    /// Readable while the device is unlocked. A mapped file becomes unreadable a few seconds after the lock, and
    /// reading it ends the process: call ``SampleStore/suspend(within:)`` when the system announces that protected data
    /// will become unavailable.
    case complete
    /// Readable from the start of the device on. Not named `none`, which Swift would take for `nil` where the option is
    /// set.
    case noProtection
}

/// An attribute that the options ask the system to set on a folder or file.
package enum StoreAttribute: Hashable, Sendable {
    case protection(FileProtection)
    case excludedFromBackup(Bool)
}
