#if canImport(Foundation)
    // The small Foundation has no NSError.
    import Foundation
#endif

/// The shortest text that tells why the system refused, without a path.
struct SystemReason: CustomStringConvertible {
    let description: String

    /// Whether a signal ended a call that was waiting, so that it must be made again.
    static func isInterruption(_ error: any Error) -> Bool {
        let inner = inner(error)
        return inner.domain == NSPOSIXErrorDomain && inner.code == Int(EINTR)
    }

    private static func inner(_ error: any Error) -> NSError {
        let outer = error as NSError
        return outer.userInfo[NSUnderlyingErrorKey] as? NSError ?? outer
    }

    init(_ error: any Error) {
        let inner = SystemReason.inner(error)
        let reason = inner.localizedFailureReason ?? inner.localizedDescription
        description = inner.domain == NSPOSIXErrorDomain ? reason : "\(inner.domain) \(inner.code)"
    }
}
