import AuthorityCore
import Sessions
import Wire

/// What people change of users and sessions, and what time takes away.
extension MemoryTransaction {
    func user(anonymousHash: [UInt8]) -> UserRecord? {
        tables.users.values.first { $0.anonymousHash == anonymousHash }
    }

    func setEnabled(_ isEnabled: Bool, of user: UserID) {
        tables.users[user]?.isEnabled = isEnabled
    }

    func activeSessions(of user: UserID, on installation: InstallationID) -> [SessionRecord] {
        ownSessions(of: user).filter {
            $0.state == .active && $0.session.installationID == installation
        }
    }

    func ownSessions(of user: UserID) -> [SessionRecord] {
        tables.sessions.values.map(\.record)
            .filter { $0.session.user == user && ($0.state != .ended || $0.isRenewable) }
            .sorted { ($0.session.createdAt, "\($0.id)") < ($1.session.createdAt, "\($1.id)") }
    }

    func sessionsOffBoards(of user: UserID) -> [SessionRecord] {
        ownSessions(of: user).filter { $0.board == nil }
    }

    func deleteSessions(endedBefore time: Timestamp, limit: Int) -> Int {
        let gone = tables.sessions.values.filter { row in
            let ended = row.endedAt.map { $0 < time } ?? false
            return ended && row.record.endNotice == nil
                && !tables.claims.values.contains {
                    $0.session == row.record.id && $0.state == .sent
                }
        }.prefix(limit).map(\.record.id)
        for id in gone {
            let spent = tables.claims.values
                .filter { $0.session == id && $0.state == .accepted }.map(\.secretHash)
            tables.spentSecrets.formUnion(spent)
            tables.claims = tables.claims.filter { $0.value.session != id }
            tables.families = tables.families.filter { $0.value.session != id }
            tables.personLogins[id] = nil
            tables.timelines = tables.timelines.mapValues { $0.filter { $0.session != id } }
            tables.sessions[id] = nil
        }
        return gone.count
    }

    func trimReplies(of board: InstallationID, toNewest count: Int) {
        let surplus = tables.replies.values.filter { $0.installation == board }
            .sorted { $0.createdAt > $1.createdAt }.dropFirst(count)
        for reply in surplus {
            tables.replies[Tables.ReplyKey(board: board, request: reply.request)] = nil
        }
    }

    var jobLines: [String] {
        var lines: [String] = []
        for job in tables.jobs where job.number > firstJob {
            if !lines.contains(job.job.line) { lines.append(job.job.line) }
        }
        return lines
    }

    func deleteEntries(before time: Timestamp, limit: Int) -> Int {
        let gone = tables.audit.prefix { $0.at < time }.prefix(limit).count
        tables.audit.removeFirst(gone)
        return gone
    }

    func retireSigningKey(at time: Timestamp, keeping count: Int) {
        var retired = 0
        tables.keys = tables.keys.compactMap { key in
            guard key.kind == .signing else { return key }
            retired += 1
            guard retired <= count else { return nil }
            return KeyRecord(
                kind: .signing, name: key.name, publicKey: key.publicKey,
                privateKey: SecretBytes([]), createdAt: key.createdAt,
                retiredAt: key.retiredAt ?? time)
        }
    }
}
