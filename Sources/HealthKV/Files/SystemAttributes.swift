// Only Apple's systems have these attributes. Elsewhere tools/apple type-checks this file against the full Foundation,
// which the library does without there.
#if canImport(Darwin) || CHECKS_APPLE_CALLS
    #if canImport(Foundation)
        import Foundation
    #endif

    /// The calls that set a ``StoreAttribute``.
    enum SystemAttributes {
        /// Sets an attribute. Returns why it could not be set, or `nil` on success.
        static func set(_ attribute: StoreAttribute, _ path: String) -> String? {
            do {
                switch attribute {
                case .protection(let protection):
                    try FileManager.default.setAttributes([.protectionKey: type(protection)], ofItemAtPath: path)
                case .excludedFromBackup(let isExcluded):
                    var values = URLResourceValues()
                    values.isExcludedFromBackup = isExcluded
                    var url = URL(fileURLWithPath: path, isDirectory: true)
                    try url.setResourceValues(values)
                }
                return nil
            } catch {
                return error.localizedDescription
            }
        }

        private static func type(_ protection: FileProtection) -> FileProtectionType {
            switch protection {
            case .completeUntilFirstUserAuthentication: .completeUntilFirstUserAuthentication
            case .completeUnlessOpen: .completeUnlessOpen
            case .complete: .complete
            case .noProtection: .none
            }
        }
    }
#endif
