/// What the vault keeps for the agent, one record each.
package enum VaultRecord: String, CaseIterable, Sendable {
    /// Installation id and device key.
    case identity
    /// The claim secret that is open, if one is.
    case claim
    /// The pinned authority, and the broker's login.
    case trust
    /// Session, tokens, user and scope.
    case session
    /// What must outlive a restart and any session: the clock floor, why the last session ended.
    case memory
}
