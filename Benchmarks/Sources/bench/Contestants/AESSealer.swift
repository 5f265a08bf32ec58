import HealthKV

#if canImport(CryptoKit)
    import CryptoKit

    /// AES-256-GCM, as an app on Apple's systems would use it.
    struct AESSealer: StoreSealer {
        private let key = SymmetricKey(data: [UInt8](repeating: 7, count: 32))

        func seal(_ bytes: [UInt8], binding: [UInt8]) throws -> [UInt8] {
            try Array(AES.GCM.seal(bytes, using: key, authenticating: binding).combined!)
        }

        func open(_ sealed: [UInt8], binding: [UInt8]) throws -> [UInt8] {
            try Array(AES.GCM.open(.init(combined: sealed), using: key, authenticating: binding))
        }
    }
#else
    import CCrypto

    /// AES-256-GCM of libcrypto: nonce, sealed bytes, tag.
    struct AESSealer: StoreSealer {
        private let key = [UInt8](repeating: 7, count: 32)
        private static let (nonceCount, tagCount) = (12, 16)

        func seal(_ bytes: [UInt8], binding: [UInt8]) throws -> [UInt8] {
            let nonce = (0..<AESSealer.nonceCount).map { _ in UInt8.random(in: 0...255) }
            var (sealed, tag) = (nonce + bytes, [UInt8](repeating: 0, count: AESSealer.tagCount))
            try unsafe run(sealing: true, nonce, binding, bytes[...], &sealed, at: AESSealer.nonceCount) { context in
                // SAFETY: C writes the tag during the call.
                unsafe EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_GET_TAG, Int32(tag.count), &tag)
            }
            return sealed + tag
        }

        func open(_ sealed: [UInt8], binding: [UInt8]) throws -> [UInt8] {
            let (nonceCount, tagCount) = (AESSealer.nonceCount, AESSealer.tagCount)
            guard sealed.count >= nonceCount + tagCount else { throw BenchFailure("a sealed value is too short") }
            var tag = Array(sealed.suffix(tagCount))
            var bytes = [UInt8](repeating: 0, count: sealed.count - nonceCount - tagCount)
            try unsafe run(
                sealing: false, Array(sealed.prefix(nonceCount)), binding,
                sealed[nonceCount..<sealed.count - tagCount], &bytes, at: 0
            ) { context in
                // SAFETY: C reads the tag during the call.
                unsafe EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_SET_TAG, Int32(tag.count), &tag)
            }
            return bytes
        }

        /// Seals or opens bytes. The tag is set before the last step when it opens, and taken after it when it seals.
        private func run(
            sealing: Bool, _ nonce: [UInt8], _ binding: [UInt8], _ input: ArraySlice<UInt8>, _ output: inout [UInt8],
            at place: Int, _ tag: (OpaquePointer) -> Int32
        ) throws {
            guard let context = unsafe EVP_CIPHER_CTX_new() else { throw BenchFailure("no memory for a cipher") }
            defer { unsafe EVP_CIPHER_CTX_free(context) }
            var count: Int32 = 0
            // SAFETY: C reads and writes only within the arrays, during the calls.
            var isDone = unsafe EVP_CipherInit_ex(context, EVP_aes_256_gcm(), nil, key, nonce, sealing ? 1 : 0) == 1
            isDone = unsafe isDone && EVP_CipherUpdate(context, nil, &count, binding, Int32(binding.count)) == 1
            isDone =
                unsafe isDone
                && input.withUnsafeBufferPointer { input in
                    unsafe output.withUnsafeMutableBufferPointer { output in
                        unsafe EVP_CipherUpdate(
                            context, output.baseAddress! + place, &count, input.baseAddress, Int32(input.count)) == 1
                    }
                }
            if !sealing { isDone = unsafe isDone && tag(context) == 1 }
            var rest: [UInt8] = [0]
            isDone = unsafe isDone && EVP_CipherFinal_ex(context, &rest, &count) == 1
            if sealing { isDone = unsafe isDone && tag(context) == 1 }
            if !isDone { throw BenchFailure("the cipher refused a value") }
        }
    }
#endif
