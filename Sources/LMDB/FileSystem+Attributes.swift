#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

// Extended attributes: small values that a file system keeps with a file. They belong to the file, not to its content:
// overwriting the content, as `cp` does with an existing file, keeps them.
extension FileSystem {
    private static let longestAttribute = 255

    /// Returns the value of an extended attribute, at most 255 bytes; `nil` if there is none, or if the file system
    /// does not support attributes.
    public static func attribute(_ name: String, of path: String) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: longestAttribute)
        #if canImport(Darwin)
            // unsafe: C fills at most the array during the call.
            let count = unsafe bytes.withUnsafeMutableBytes {
                unsafe getxattr(path, name, $0.baseAddress, $0.count, 0, 0)
            }
        #else
            // Swift's modules of the C library omit these functions, so look them up by name.
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

    /// Sets an extended attribute of a file. Returns `false` if the file system does not support attributes.
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
