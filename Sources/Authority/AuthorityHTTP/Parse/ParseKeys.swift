package import Sessions

/// The configuration of Parse's API.
package struct ParseRules: Sendable {
    package var mount = "/parse"
    /// Nil if clients need no key.
    package var restAPIKey: SecretBytes?
    /// Nil if there is no master key.
    package var masterKey: SecretBytes?
    /// Whether the master key also counts from other machines.
    package var takesMasterKeyFromAnywhere = false
    package var sessionPermissions = ClassPermissions()
    /// The other origins whose pages may use Parse's API, as browsers write them.
    package var origins: Set<String> = []

    package init() {}

    /// The result of checking a request's keys.
    enum Verdict: Equatable {
        case client, master, unauthorized
    }

    /// Checks the keys of a request, in constant time.
    ///
    /// A wrong master key, or one from a machine where it does not count, is never treated as
    /// absent. If no master key is configured, any is wrong.
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
