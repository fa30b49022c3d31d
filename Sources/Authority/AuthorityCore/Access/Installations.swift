package import Sessions

/// Parse's `_Installation`: an app on a device, as the app describes it. It has no effect here: it
/// opens no session and is no board.
package struct InstallationRecord: Equatable, Sendable {
    package let objectID: ObjectID
    package let installation: InstallationID
    /// The first user whose session saved it. Nil if none did.
    package var owner: UserID?
    /// `deviceType` and the app's other fields.
    package var fields: [String: JSONValue]
    package let createdAt: Timestamp
    package var updatedAt: Timestamp

    package init(
        objectID: ObjectID, installation: InstallationID, owner: UserID?,
        fields: [String: JSONValue], createdAt: Timestamp, updatedAt: Timestamp
    ) {
        self.objectID = objectID
        self.installation = installation
        self.owner = owner
        self.fields = fields
        self.createdAt = createdAt
        self.updatedAt = updatedAt
    }
}

/// The fields that an app sends about its installation.
package struct InstallationDraft: Sendable {
    /// The installation id in the body.
    package let installation: InstallationID?
    /// The installation id that the request names as its sender.
    package let claimed: InstallationID?
    package let fields: [String: JSONValue]
    /// The peer's address, for the rate limit.
    package let origin: String

    package init(
        installation: InstallationID?, claimed: InstallationID?, fields: [String: JSONValue],
        origin: String
    ) {
        self.installation = installation
        self.claimed = claimed
        self.fields = fields
        self.origin = origin
    }

    fileprivate var names: [InstallationID?] { [installation, claimed] }
}

package protocol InstallationTable {
    func installation(_ id: ObjectID) throws(AuthorityError) -> InstallationRecord?
    func installation(
        named installation: InstallationID
    ) throws(AuthorityError) -> InstallationRecord?
    /// The newest first.
    func installations(_ slice: ListSlice) throws(AuthorityError) -> [InstallationRecord]
    /// The number of installations of an owner. Nil: those without an owner.
    func countInstallations(of owner: UserID?) throws(AuthorityError) -> Int
    /// Inserts or replaces.
    func save(_ installation: InstallationRecord) throws(AuthorityError)
    /// Deletes installations without an owner that were last saved before `time`. Deletes at most
    /// `limit` and returns how many.
    func deleteInstallationsOfNobody(
        savedBefore time: Timestamp, limit: Int
    ) throws(AuthorityError) -> Int
}

/// Access rules: an installation belongs to the first user whose session saves it. While it has no
/// owner, any caller that sends its `installationId` may use it. Its object id alone gives no
/// access.
extension Authority {
    /// New installations from one address in five minutes; for IPv6, from one /64.
    private static let newFromAddress = 30
    private static let ofUser = 256
    private static let ofNobody = 10_000
    /// How long an installation without an owner is kept after it was last saved.
    static let ofNobodyKept = Duration.seconds(30 * 86_400)

    package func saveInstallation(
        _ draft: InstallationDraft, by caller: Caller?
    ) async throws(AuthorityError) -> (saved: InstallationRecord, isNew: Bool) {
        guard let name = draft.installation ?? draft.claimed else {
            throw .refuse(.missingField, "an installationId must be specified in this operation")
        }
        let id = try newObjectID()
        return try await actAsAnyone(.installation, by: caller) {
            act, transaction, now throws(AuthorityError) in
            if let known = try transaction.installation(named: name) {
                guard mayWrite(known, draft.names, act) else {
                    throw .refuse(.forbidden, "this installation belongs to another user")
                }
                return (try change(known, draft, act, transaction, at: now), false)
            }
            if let act, act.rights.isRestricted,
                let own = act.session.session.installationID, own != name
            {
                throw .refused(CallerRights.restricted)
            }
            guard case .string? = draft.fields["deviceType"] else {
                throw .refuse(.missingField, "deviceType must be specified in this operation")
            }
            let owner = act.flatMap { $0.rights.isMaster ? nil : $0.user.objectID }
            try requireRoom(for: owner, draft.origin, transaction, at: now)
            let new = InstallationRecord(
                objectID: id, installation: name, owner: owner,
                fields: try InstallationFields.apply(draft.fields), createdAt: now, updatedAt: now)
            try transaction.save(new)
            return (new, true)
        }
    }

    package func updateInstallation(
        _ id: ObjectID, with draft: InstallationDraft, by caller: Caller?
    ) async throws(AuthorityError) -> InstallationRecord {
        try await actAsAnyone(.installation, by: caller) {
            act, transaction, now throws(AuthorityError) in
            guard let known = try transaction.installation(id), mayWrite(known, draft.names, act)
            else { throw .refuse(.notFound, "Object not found.") }
            return try change(known, draft, act, transaction, at: now)
        }
    }

    package func installation(
        _ id: ObjectID, at claimed: InstallationID?, by caller: Caller?
    ) async throws(AuthorityError) -> InstallationRecord {
        try await lookAsAnyone(.installation, by: caller) {
            act, transaction throws(AuthorityError) in
            guard let known = try transaction.installation(id), mayWrite(known, [claimed], act)
            else { throw .refuse(.notFound, "Object not found.") }
            return known
        }
    }

    package func installations(
        _ slice: ListSlice, by caller: Caller?
    ) async throws(AuthorityError) -> [InstallationRecord] {
        guard let caller else { throw .refused(CallerRights.masterOnly) }
        return try await look(.everyInstallation, by: caller) { act throws(AuthorityError) in
            try act.transaction.installations(slice)
        }
    }

    private func mayWrite(
        _ known: InstallationRecord, _ named: [InstallationID?], _ act: Act?
    ) -> Bool {
        if act?.rights.isMaster == true { return true }
        // A restricted session may use only the installation of its own device.
        if let act, act.rights.isRestricted,
            act.session.session.installationID != known.installation
        {
            return false
        }
        guard let owner = known.owner else { return named.contains(known.installation) }
        return owner == act?.user.objectID
    }

    private func change(
        _ known: InstallationRecord, _ draft: InstallationDraft, _ act: Act?,
        _ transaction: any AuthorityTransaction, at now: Timestamp
    ) throws(AuthorityError) -> InstallationRecord {
        guard draft.installation ?? known.installation == known.installation else {
            throw .refuse(
                .immutableField, "installationId may not be changed in this operation")
        }
        if let type = draft.fields["deviceType"], type != known.fields["deviceType"] {
            throw .refuse(.immutableField, "deviceType may not be changed in this operation")
        }
        var changed = known
        changed.fields = try InstallationFields.apply(draft.fields, to: known.fields)
        changed.updatedAt = now
        if changed.owner == nil, let act, !act.rights.isMaster {
            try requireRoom(for: act.user.objectID, draft.origin, transaction, at: now)
            changed.owner = act.user.objectID
        }
        try transaction.save(changed)
        return changed
    }

    /// Checks that another installation is allowed. Each user, and all callers without a session
    /// together, have a quota (140). Without a session there is also a rate limit for each address
    /// (155).
    private func requireRoom(
        for owner: UserID?, _ origin: String, _ transaction: any AuthorityTransaction,
        at now: Timestamp
    ) throws(AuthorityError) {
        let count = try transaction.countInstallations(of: owner)
        guard count < (owner == nil ? Self.ofNobody : Self.ofUser) else {
            throw .refuse(.quota, "there are \(count) installations already, the most")
        }
        guard owner == nil else { return }
        let key = "installation \(CountedOrigin(origin))"
        if let wait = try wait(key, atMost: Self.newFromAddress, transaction, at: now) {
            throw .refused(.tooMany("new installations", wait: wait))
        }
        try transaction.countFailure(key, at: now)
    }
}
