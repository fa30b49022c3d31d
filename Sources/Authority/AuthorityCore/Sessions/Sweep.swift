import Sessions
import Wire

/// Ends what has expired. Only the authority's clock decides.
extension Authority {
    /// Ends everything that has passed a limit, and deletes old records. The work of one call is
    /// limited. Call it again while it returns true.
    package func sweep() async throws(AuthorityError) -> Bool {
        let now = clock()
        let limit = 200
        let more = try await store.transact { transaction throws(AuthorityError) in
            let counts = [
                try closeClaims(transaction, at: now, limit: limit),
                try closePreparedClaims(transaction, at: now, limit: limit),
                try transaction.deletePreparedClaims(
                    endedBefore: now - PreparedClaimLimit.memory,
                    unusedBefore: now - PreparedClaimLimit.unusedMemory, limit: limit),
                try endExpired(transaction, at: now, limit: limit),
                try endFarewells(transaction, at: now, limit: limit),
                try transaction.deleteSessions(
                    endedBefore: now - AuthorityRules.memory, limit: limit),
                try transaction.deleteEntries(
                    before: now - AuthorityRules.auditMemory, limit: limit),
                try transaction.deleteSpentProofs(endedBefore: now, limit: limit),
                try transaction.deleteLoginRequests(endedBefore: now, limit: limit),
                try transaction.deleteClaimCodes(endedBefore: now, limit: limit),
                try endDueShares(transaction, at: now, limit: limit),
                try transaction.deleteInvitations(expiredBefore: now, limit: limit),
                try transaction.deleteRequests(endedBefore: now, limit: limit),
                try transaction.deleteReplies(expiredBefore: now, limit: limit),
                try transaction.deleteCommands(
                    deadlineBefore: now - CommandLimits.memory, limit: limit),
                try transaction.deleteAlerts(
                    resolvedBefore: now - AlertRules.memory, limit: limit),
                try transaction.deleteInstallationsOfNobody(
                    savedBefore: now - Self.ofNobodyKept, limit: limit),
            ]
            try transaction.deleteFailures(before: now - LoginLimit.window)
            try transaction.deleteMessages(endedBefore: now)
            return counts.contains(limit)
        }
        for line in try await linesWithJobs() { worker.wake(line) }
        return more
    }

    private func closeClaims(
        _ transaction: any AuthorityTransaction, at now: Timestamp, limit: Int
    ) throws(AuthorityError) -> Int {
        let claims = try transaction.openClaims(
            expiredBefore: now - AuthorityRules.claimGrace, limit: limit)
        for claim in claims {
            try close(claim, as: .expired, detail: "", actor: "authority", transaction, at: now)
        }
        return claims.count
    }

    private func endExpired(
        _ transaction: any AuthorityTransaction, at now: Timestamp, limit: Int
    ) throws(AuthorityError) -> Int {
        let sessions = try transaction.expiredSessions(
            at: now, madeBefore: rules.lifetimes.absolute.map { now - $0 },
            idleSince: rules.lifetimes.idle.map { now - $0 }, limit: limit)
        for record in sessions { try endExpired(record, transaction, at: now) }
        return sessions.count
    }

    private func endFarewells(
        _ transaction: any AuthorityTransaction, at now: Timestamp, limit: Int
    ) throws(AuthorityError) -> Int {
        let endNotices = try transaction.overdueEndNotices(at: now, limit: limit)
        for var record in endNotices {
            record.endNotice = nil
            try transaction.save(record, at: now)
            if let board = record.board { try addBrokerJobs(board, transaction, at: now) }
        }
        return endNotices.count
    }
}
