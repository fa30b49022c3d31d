import AuthorityCore
import Sessions
import Wire

extension MemoryTransaction {
    func session(_ id: ObjectID) -> SessionRecord? { tables.sessions[id]?.record }

    func held(_ id: ObjectID) -> UserSession? { session(id).flatMap(held) }

    func held(tokenHash: [UInt8]) -> UserSession? { session(tokenHash: tokenHash).flatMap(held) }

    private func held(_ record: SessionRecord) -> UserSession? {
        user(record.session.user).map { UserSession(session: record, user: $0) }
    }

    private func session(tokenHash: [UInt8]) -> SessionRecord? {
        tables.sessions.values.first { $0.record.tokenHash == tokenHash }?.record
    }

    func firstLooks(_ questions: [FirstQuestion]) -> [FirstLook] {
        questions.map { question in
            FirstLook(
                reply: reply(to: question.request, of: question.board),
                session: question.tokenHash.flatMap(boardSession))
        }
    }

    private func boardSession(tokenHash: [UInt8]) -> BoardSession? {
        guard let record = session(tokenHash: tokenHash), let user = user(record.session.user)
        else { return nil }
        return BoardSession(
            record: record, username: user.username,
            report: record.session.installationID.flatMap { tables.reports[$0] })
    }

    func activeSession(on board: InstallationID) -> SessionRecord? { tables.active(on: board) }

    func departing(on board: InstallationID) -> SessionRecord? { tables.departing(on: board) }

    func lastEnded(on board: InstallationID) -> SessionRecord? {
        tables.sessions.values.filter { row in
            let record = row.record
            return record.board == board && record.state == .ended
                && record.endReason?.hasPrefix("claim ") == false
        }.max { ($0.endedAt?.milliseconds ?? 0) < ($1.endedAt?.milliseconds ?? 0) }?.record
    }

    func sessions(
        of user: UserID?, _ choice: SessionChoice, _ slice: ListSlice
    ) -> [SessionRecord] {
        let withEnded = choice == .current || choice == .restricted
        let withFull = choice == .current || choice == .notEnded
        let found = tables.sessions.values.map(\.record).filter { record in
            guard user == nil || record.session.user == user else { return false }
            if record.state == .ended {
                guard record.endNotice != nil else { return false }
                guard withEnded || record.endReason == "expired" else { return false }
            }
            guard choice != .activeRestricted || record.state == .active else { return false }
            return withFull || record.session.restricted
        }
        return slice.of(found.sorted {
            ($0.session.createdAt, "\($1.id)") > ($1.session.createdAt, "\($0.id)")
        })
    }

    func expiredSessions(
        at now: Timestamp, madeBefore: Timestamp?, idleSince: Timestamp?, limit: Int
    ) -> [SessionRecord] {
        let found = tables.sessions.values.map(\.record).filter { record in
            guard record.state == .active else { return false }
            return record.session.expiresAt.map { $0 <= now } ?? false
                || record.absoluteLimit.map { $0 <= now } ?? false
                || madeBefore.map { record.session.createdAt <= $0 } ?? false
                || idleSince.map { record.lastSeen <= $0 } ?? false
        }
        return Array(found.prefix(limit))
    }

    func overdueEndNotices(at now: Timestamp, limit: Int) -> [SessionRecord] {
        let found = tables.sessions.values.map(\.record)
            .filter { $0.endNotice.map { $0.until <= now } ?? false }
        return Array(found.prefix(limit))
    }

    func noteUse(of session: ObjectID, at now: Timestamp) {
        tables.sessions[session]?.record.lastSeen = now
    }

    func save(_ record: SessionRecord, at now: Timestamp) throws(AuthorityError) {
        let others = tables.sessions.values.map(\.record).filter { $0.id != record.id }
        guard !others.contains(where: { $0.tokenHash == record.tokenHash }) else {
            throw refuse("one session to a token")
        }
        if record.state == .active, let board = record.session.installationID,
            others.contains(where: {
                $0.state == .active && $0.session.installationID == board
            })
        {
            throw refuse("one active session to a board")
        }
        let endedAt = tables.sessions[record.id]?.endedAt ?? (record.state == .ended ? now : nil)
        tables.sessions[record.id] = Tables.SessionRow(record: record, endedAt: endedAt)
    }

    func family(_ id: RefreshFamilyID) -> RefreshFamily? { tables.families[id] }

    func save(_ family: RefreshFamily) { tables.families[family.id] = family }
}

extension MemoryTransaction {
    func claim(_ id: MessageID) -> ClaimRecord? { tables.claims[id] }

    func openClaim(on board: InstallationID) -> ClaimRecord? { tables.openClaim(on: board) }

    func insert(_ claim: ClaimRecord) -> Bool {
        guard tables.openClaim(on: claim.installation) == nil else { return false }
        tables.claims[claim.id] = claim
        return true
    }

    func update(_ claim: ClaimRecord) { tables.claims[claim.id] = claim }

    func isUsed(secretHash: [UInt8]) -> Bool {
        tables.spentSecrets.contains(secretHash)
            || tables.claims.values.contains {
                $0.state == .accepted && $0.secretHash == secretHash
            }
    }

    func boardsWithInbox(
        at now: Timestamp, endedAfter ended: Timestamp, after last: InstallationID?, limit: Int
    ) -> [InstallationID] {
        let claimed = tables.claims.values.filter { $0.expiresAt > now }.map(\.installation)
        let left = tables.sessions.values.filter { row in
            row.record.endNotice != nil || row.record.scopeNotice != nil
                || (row.record.state == .ended && (row.endedAt ?? now) > ended)
        }.compactMap(\.record.session.installationID)
        let found = Set(claimed + left).sorted { "\($0)" < "\($1)" }
        return Array(found.filter { "\($0)" > (last?.description ?? "") }.prefix(limit))
    }

    func openClaims(of user: UserID?, at now: Timestamp, limit: Int) -> [ClaimRecord] {
        let found = tables.claims.values.filter { claim in
            guard claim.state == .sent, claim.expiresAt > now else { return false }
            let board = tables.boards[claim.installation]
            return user == nil || claim.claimant == user
                || (board?.owner == user && board?.released == false)
        }
        return Array(found.sorted { $0.createdAt > $1.createdAt }.prefix(limit))
    }

    func openClaims(expiredBefore time: Timestamp, limit: Int) -> [ClaimRecord] {
        Array(tables.claims.values.filter { $0.state == .sent && $0.expiresAt < time }
            .prefix(limit))
    }
}
