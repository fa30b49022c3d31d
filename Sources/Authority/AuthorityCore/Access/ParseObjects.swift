package import Sessions

/// Parse's `_Installation` and `_Role`, which the authority keeps for the apps that people have.
///
/// Who asks is nil where no session is needed and none was shown; a session that is shown is
/// judged again in the transaction that acts.
package protocol ParseObjects: Sendable {
    /// Makes the installation, or changes the one that has its id already. 135 without an
    /// installation id, or without a `deviceType` for a new one; 119 where it is somebody
    /// else's; 140 where there are too many.
    func saveInstallation(
        _ draft: InstallationDraft, by caller: Caller?
    ) async throws(AuthorityError) -> (saved: InstallationRecord, isNew: Bool)
    /// 101 for one that is not the caller's.
    func updateInstallation(
        _ id: ObjectID, with draft: InstallationDraft, by caller: Caller?
    ) async throws(AuthorityError) -> InstallationRecord
    func installation(
        _ id: ObjectID, at claimed: InstallationID?, by caller: Caller?
    ) async throws(AuthorityError) -> InstallationRecord
    /// The master key's alone (119), as Parse has it.
    func installations(
        _ slice: ListSlice, by caller: Caller?
    ) async throws(AuthorityError) -> [InstallationRecord]

    /// Those that the caller may read.
    func roles(by caller: Caller?) async throws(AuthorityError) -> [RoleView]
    /// 101 for one that the caller may not read.
    func role(_ id: ObjectID, by caller: Caller?) async throws(AuthorityError) -> RoleView
    /// Administrators and the master key only.
    func makeRole(
        _ draft: RoleDraft, by caller: Caller
    ) async throws(AuthorityError) -> RoleView
    /// For whom the role's ACL lets write it, too. 136 for another name.
    func updateRole(
        _ id: ObjectID, with draft: RoleDraft, by caller: Caller
    ) async throws(AuthorityError) -> RoleView
    func deleteRole(_ id: ObjectID, by caller: Caller) async throws(AuthorityError)
}

extension Authority {
    /// One transaction of somebody who need not have a session; of one who has, `body` gets
    /// what stands of it now.
    func actAsAnyone<R: Sendable>(
        _ deed: Deed, by caller: Caller?,
        _ body: @escaping @Sendable (
            Act?, any AuthorityTransaction, Timestamp
        ) throws(AuthorityError) -> R
    ) async throws(AuthorityError) -> R {
        let now = clock()
        return try await store.transact { transaction throws(AuthorityError) in
            let act = try caller.map { caller throws(AuthorityError) in
                try Act(deed, by: caller, self, transaction, at: now)
            }
            return try body(act, transaction, now)
        }
    }

    /// The same without writing.
    func lookAsAnyone<R: Sendable>(
        _ deed: Deed, by caller: Caller?,
        _ body: @escaping @Sendable (
            Act?, any AuthorityTransaction
        ) throws(AuthorityError) -> R
    ) async throws(AuthorityError) -> R {
        let now = clock()
        return try await store.read { transaction throws(AuthorityError) in
            let act = try caller.map { caller throws(AuthorityError) in
                try Act(deed, by: caller, self, transaction, at: now)
            }
            return try body(act, transaction)
        }
    }
}

extension Act {
    /// Whether ACLs and owners do not bind this caller.
    var isAboveACLs: Bool { rights.isMaster || (user.isAdministrator && !rights.isRestricted) }
}
