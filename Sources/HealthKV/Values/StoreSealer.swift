/// A cipher that an app brings, so that nobody without its key reads what a store holds, or puts into it what the store
/// takes for its own.
///
/// The store never sees the key. What it stores of a value is what ``seal(_:binding:)`` returned. With CryptoKit:
///
/// ```swift
/// struct KeychainSealer: StoreSealer {
///     let key: SymmetricKey
///     func seal(_ bytes: [UInt8], binding: [UInt8]) throws -> [UInt8] {
///         try Array(AES.GCM.seal(bytes, using: key, authenticating: binding).combined!)
///     }
///     func open(_ sealed: [UInt8], binding: [UInt8]) throws -> [UInt8] {
///         try Array(AES.GCM.open(.init(combined: sealed), using: key, authenticating: binding))
///     }
/// }
/// ```
///
/// Use a cipher that authenticates, such as AES-GCM or ChaCha20-Poly1305, and a key that only the app has. The calls
/// come from several threads.
public protocol StoreSealer: Sendable {
    /// Returns the sealed form of `bytes`, from which nobody without the key learns them. It must differ each time,
    /// such as by a random nonce in it, and be longer by the same number of bytes for any of them.
    func seal(_ bytes: [UInt8], binding: [UInt8]) throws -> [UInt8]

    /// Returns the bytes that were sealed together with `binding`. Throws if they were sealed with another key or
    /// another `binding`, or if any of them was changed, and for no other reason: what it throws for is damage.
    func open(_ sealed: [UInt8], binding: [UInt8]) throws -> [UInt8]
}
