#if canImport(Foundation)
    // The small Foundation has no NSError.
    import Foundation
#endif

/// The shortest text that tells why the system refused, without a path.
struct SystemReason: CustomStringConvertible {
    let description: String

    init(_ error: any Error) {
        let outer = error as NSError
        let inner = outer.userInfo[NSUnderlyingErrorKey] as? NSError ?? outer
        let reason = inner.localizedFailureReason ?? inner.localizedDescription
        description = inner.domain == NSPOSIXErrorDomain ? reason : "\(inner.domain) \(inner.code)"
    }
}
