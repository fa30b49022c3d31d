package import Sessions

/// Parse's `_Installation` and `_Role`, which the authority stores for people's apps.
///
/// `caller` is nil if no session is needed and none was sent. A session is checked again in the
/// transaction of the action.
package protocol ParseObjects: Sendable {
    /// Creates the installation, or changes the existing one with its id. 135 without an
    /// installation id, or without a `deviceType` for a new one; 119 if it belongs to somebody
    /// else; 140 if there are too many; 155 for too many new ones without a session.
    func saveInstallation(
        _ draft: InstallationDraft, by caller: Caller?
    ) async throws(AuthorityError) -> (saved: InstallationRecord, isNew: Bool)
    /// Throws 101 if the installation is not the caller's.
    func updateInstallation(
        _ id: ObjectID, with draft: InstallationDraft, by caller: Caller?
    ) async throws(AuthorityError) -> InstallationRecord
    func installation(
        _ id: ObjectID, at claimed: InstallationID?, by caller: Caller?
    ) async throws(AuthorityError) -> InstallationRecord
    /// Only for the master key (otherwise 119), as in Parse.
    func installations(
        _ slice: ListSlice, by caller: Caller?
    ) async throws(AuthorityError) -> [InstallationRecord]

    /// The roles that the caller may read.
    func roles(by caller: Caller?) async throws(AuthorityError) -> [RoleView]
    /// Throws 101 if the caller may not read the role.
    func role(_ id: ObjectID, by caller: Caller?) async throws(AuthorityError) -> RoleView
    /// Creates a role. Only for administrators and the master key.
    func makeRole(
        _ draft: RoleDraft, by caller: Caller
    ) async throws(AuthorityError) -> RoleView
    /// Changes a role. For administrators, the master key, and callers that the role's ACL lets
    /// write. 136 for another name.
    func updateRole(
        _ id: ObjectID, with draft: RoleDraft, by caller: Caller
    ) async throws(AuthorityError) -> RoleView
    func deleteRole(_ id: ObjectID, by caller: Caller) async throws(AuthorityError)
}

extension Authority {
    /// Runs one transaction for a caller with or without a session, and spends the request. `body`
    /// gets an `Act` with the present session, or nil without one.
    func actAsAnyone<R: Sendable>(
        _ deed: CallKind, by caller: Caller?,
        _ body: @escaping @Sendable (
            Act?, any AuthorityTransaction, Timestamp
        ) throws(AuthorityError) -> R
    ) async throws(AuthorityError) -> R {
        let now = clock()
        return try await store.transact { transaction throws(AuthorityError) in
            try spend(transaction, at: now)
            let act = try caller.map { caller throws(AuthorityError) in
                try Act(deed, by: caller, self, transaction, at: now)
            }
            return try body(act, transaction, now)
        }
    }

    /// The same without writing.
    func lookAsAnyone<R: Sendable>(
        _ deed: CallKind, by caller: Caller?,
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
    /// Whether this caller may ignore ACLs.
    var isAboveACLs: Bool { rights.isMaster || (user.isAdministrator && !rights.isRestricted) }
}
