/// The agent's records in the vault.
package enum VaultRecord: String, CaseIterable, Sendable {
    /// Installation id and device key.
    case identity
    /// The open claim secret, if there is one.
    case claim
    /// The prepared claim with which this board asks to join, if there is one.
    case join
    /// The pinned authority, and the broker's login.
    case trust
    /// Session, tokens, user and scope.
    case session
    /// Values that outlive a restart and any session, such as the clock floor and why the last
    /// session ended.
    case memory
    /// The commands that were taken under the session.
    case commands
}
