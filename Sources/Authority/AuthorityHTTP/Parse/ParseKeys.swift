package import Sessions

/// What Parse's API is configured to do.
package struct ParseRules: Sendable {
    package var mount = "/parse"
    /// Nil: clients need none.
    package var restAPIKey: SecretBytes?
    /// Nil: there is none.
    package var masterKey: SecretBytes?
    /// Whether it counts from elsewhere than this machine.
    package var takesMasterKeyFromAnywhere = false
    package var sessionPermissions = ClassPermissions()

    package init() {}

    /// What the keys that a request shows make of it; both are compared in constant time.
    enum Verdict: Equatable {
        case client, master, unauthorized
    }

    /// A master key that is wrong, or comes from where it does not count, is never taken for
    /// none; where none is configured, any is wrong.
    func judge(_ call: Call) -> Verdict {
        if let shown = call.credentials.masterKey {
            guard let masterKey, masterKey.matches(shown),
                call.isFromThisMachine || takesMasterKeyFromAnywhere
            else { return .unauthorized }
            return .master
        }
        guard let restAPIKey else { return .client }
        guard let shown = call.credentials.clientKey, restAPIKey.matches(shown) else {
            return .unauthorized
        }
        return .client
    }
}
