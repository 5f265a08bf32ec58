#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

// Small values that a file system keeps beside a file. They belong to the file and not to its bytes: writing other bytes into it, as `cp`
// does with a file that is there, leaves them.
extension FileSystem {
    private static let longestAttribute = 255

    /// The value of an extended attribute, 255 bytes at most; `nil` where there is none, or the file system keeps none.
    public static func attribute(_ name: String, of path: String) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: longestAttribute)
        #if canImport(Darwin)
            // unsafe: C fills at most the array during the call.
            let count = unsafe bytes.withUnsafeMutableBytes {
                unsafe getxattr(path, name, $0.baseAddress, $0.count, 0, 0)
            }
        #else
            // Swift's modules of the C library leave these functions out, so they are called by name.
            typealias Getxattr =
                @convention(c) (UnsafePointer<CChar>, UnsafePointer<CChar>, UnsafeMutableRawPointer?, Int) -> Int
            guard let symbol = unsafe dlsym(nil, "getxattr") else { return nil }
            // unsafe: the function has this signature, and fills at most the array during the call.
            let getxattr = unsafe unsafeBitCast(symbol, to: Getxattr.self)
            let count = unsafe bytes.withUnsafeMutableBytes {
                unsafe getxattr(path, name, $0.baseAddress, $0.count)
            }
        #endif
        return count < 0 ? nil : Array(bytes.prefix(count))
    }

    /// Sets an extended attribute of a file. Returns `false` where the file system keeps none.
    @discardableResult
    public static func setAttribute(_ name: String, of path: String, _ bytes: [UInt8]) -> Bool {
        #if canImport(Darwin)
            // unsafe: C only reads the array during the call.
            return unsafe bytes.withUnsafeBytes { unsafe setxattr(path, name, $0.baseAddress, $0.count, 0, 0) } == 0
        #else
            typealias Setxattr =
                @convention(c) (UnsafePointer<CChar>, UnsafePointer<CChar>, UnsafeRawPointer?, Int, Int32) -> Int32
            guard let symbol = unsafe dlsym(nil, "setxattr") else { return false }
            // unsafe: the function has this signature, and only reads the array during the call.
            let setxattr = unsafe unsafeBitCast(symbol, to: Setxattr.self)
            return unsafe bytes.withUnsafeBytes { unsafe setxattr(path, name, $0.baseAddress, $0.count, 0) } == 0
        #endif
    }
}
