#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// What a program that works with stores must know and do about signals.
public enum ProcessSignals {
    /// Returns `true` if the process ignores a signal, as `nohup` makes it ignore SIGHUP.
    public static func isIgnored(_ number: Int32) -> Bool {
        var action = sigaction()
        // unsafe: C fills the structure during the call. A handler is compared as a number and never called.
        guard unsafe sigaction(number, nil, &action) == 0 else { return false }
        #if canImport(Darwin)
            return unsafe unsafeBitCast(action.__sigaction_u.__sa_handler, to: Int.self) == 1
        #elseif canImport(Musl)
            return unsafe unsafeBitCast(action.__sa_handler.sa_handler, to: Int.self) == 1
        #else
            return unsafe unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == 1
        #endif
    }

    /// Ends the process after a text on standard error. A signal handler may call this.
    public static func end(saying text: StaticString, code: Int32) -> Never {
        // unsafe: a static string stays where it is.
        _ = unsafe write(2, text.utf8Start, text.utf8CodeUnitCount)
        _exit(code)
    }
}
