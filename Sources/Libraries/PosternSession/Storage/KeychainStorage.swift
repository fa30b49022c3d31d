#if canImport(Security)
    public import Foundation
    import Security

    /// Keeps the session in the keychain of an Apple system, for this device only.
    ///
    /// It can be read after the first unlock since the device started. No test of this repository
    /// runs this file: they run on Linux.
    ///
    /// Source: Apple's documentation, Keychain services, `SecItemAdd(_:_:)`.
    public actor KeychainStorage: SessionStorage {
        private let service: String
        private let account: String

        /// `service` is usually the app's bundle identifier.
        public init(service: String, account: String = "postern-session") {
            self.service = service
            self.account = account
        }

        private func item(_ account: String) -> [CFString: Any] {
            [
                kSecClass: kSecClassGenericPassword, kSecAttrService: service,
                kSecAttrAccount: account, kSecUseDataProtectionKeychain: true,
            ]
        }

        private var asideAccount: String { account + ".unreadable" }

        public func load() throws(StorageError) -> Data? {
            var query = item(account)
            query[kSecReturnData] = true
            query[kSecMatchLimit] = kSecMatchLimitOne
            var found: CFTypeRef?
            let status = unsafe SecItemCopyMatching(query as CFDictionary, &found)
            if status == errSecItemNotFound { return nil }
            try check(status, "read")
            guard let record = found as? Data else {
                try setAside()
                throw .unreadable("the keychain's item is no session", setAside: nil)
            }
            return record
        }

        public func save(_ record: Data) throws(StorageError) {
            let values: [CFString: Any] = [
                kSecValueData: record,
                kSecAttrAccessible: kSecAttrAccessibleAfterFirstUnlockThisDeviceOnly,
            ]
            var status = SecItemUpdate(item(account) as CFDictionary, values as CFDictionary)
            if status == errSecItemNotFound {
                let made = item(account).merging(values) { $1 }
                status = unsafe SecItemAdd(made as CFDictionary, nil)
            }
            try check(status, "write")
        }

        public func clear() throws(StorageError) {
            for name in [account, asideAccount] {
                let status = SecItemDelete(item(name) as CFDictionary)
                if status != errSecItemNotFound { try check(status, "clear") }
            }
        }

        public func setAside() throws(StorageError) {
            SecItemDelete(item(asideAccount) as CFDictionary)
            let renamed = [kSecAttrAccount: asideAccount] as CFDictionary
            let status = SecItemUpdate(item(account) as CFDictionary, renamed)
            if status != errSecItemNotFound { try check(status, "set aside") }
        }

        private func check(_ status: OSStatus, _ what: String) throws(StorageError) {
            guard status != errSecSuccess else { return }
            throw .failed("the keychain cannot \(what) the session: status \(status)")
        }
    }
#endif
