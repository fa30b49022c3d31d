package import Sessions
import Wire

/// Replaces a board that died by another one. The new board must be paired before.
extension Authority {
    /// Gives the place of `old` to `new`: name, scope, labels, timeline, and the consumers that
    /// name it. Its records stay where they are, and reads of `new` find them: see `Lineage`. The
    /// session of `old` ends and its login is cut at once, without a farewell, because somebody
    /// else may have its card. Its id and its key are refused from then on.
    ///
    /// `lastArrived` is the number of the newest record of `old` that is kept.
    ///
    /// Both boards must have one owner: the caller, or any user for an administrator. Throws 119 if
    /// `old` is online, so that swapped names do no harm.
    package func replace(
        _ old: InstallationID, by new: InstallationID, lastArrived: Int64?, for caller: Caller
    ) async throws(AuthorityError) -> BoardReplacement {
        let (replaced, isRestored) = try await act(.replace, by: caller) {
            act throws(AuthorityError) in
            let dead = try act.board(old, to: .own).record
            let fresh = try act.board(new, to: .own).record
            guard old != new else {
                throw .refuse(.validation, "a board cannot replace itself")
            }
            let session = try replacement(of: dead, by: fresh, act)
            let told = try act.transaction.report(of: old)
            let lost = LostMessages(waited: told?.report.queue.messages, after: lastArrived)
            let isRestored = try moveConfiguration(from: old, to: new, act.transaction)
            try hand(over: dead, to: fresh, session, asking: isRestored, act)
            try retire(dead, act)
            try act.transaction.moveTimeline(from: old, to: new)
            let replaced = ReplacedBoard(
                installation: old, successor: new, deviceKey: dead.deviceKey,
                replacedAt: act.now, lost: lost)
            try act.transaction.insert(replaced)
            try moveConsumers(of: dead.owner, from: old, to: new, act.transaction)
            try moveShares(from: old, to: new, act.transaction)
            let words = "\(dead.name) (\(old)); \(lost.words)"
            try note(.tookPlace, on: new, session.id, words, act.transaction, at: act.now)
            for board in [old, new] {
                try audit(
                    "board.replaced", act.user.username, board, nil, "\(old) by \(new)",
                    act.transaction, at: act.now)
            }
            return (replaced, isRestored)
        }
        let isTold = await runJobs(of: old)
        _ = await runJobs(of: new)
        return BoardReplacement(
            replaced: replaced, isBrokerTold: isTold, hasConfiguration: isRestored)
    }

    /// The session of the new board. Throws if it cannot take the place.
    private func replacement(
        of dead: BoardRecord, by fresh: BoardRecord, _ act: Act
    ) throws(AuthorityError) -> SessionRecord {
        let (old, new) = (dead.installation, fresh.installation)
        guard dead.owner == fresh.owner else {
            throw .refuse(.forbidden, "the two boards have different owners")
        }
        guard dead.deviceKey != fresh.deviceKey else {
            throw .refuse(.forbidden, "the two boards have the same key")
        }
        guard try act.transaction.status(of: old)?.up != true else {
            throw .refuse(
                .forbidden, "the old board is online; turn it off, and wait until it is offline")
        }
        guard let session = try act.transaction.activeSession(on: new),
            session.isLive(at: act.now, under: rules.lifetimes)
        else {
            throw .refuse(.forbidden, "the new board has no active session; pair it first")
        }
        guard try act.transaction.openClaim(on: new) == nil else {
            throw .refuse(
                .forbidden, "a claim waits for the new board; end it, or let the board accept it")
        }
        let count = try act.transaction.replaced(by: old).count
            + act.transaction.replaced(by: new).count
        guard count < Lineage.limit else {
            throw .refuse(
                .quota, "a board takes the place of at most \(Lineage.limit) others")
        }
        return session
    }

    /// - Parameter asks: whether the new board has a configuration to ask for, which it does after
    ///   each update.
    private func hand(
        over dead: BoardRecord, to fresh: BoardRecord, _ session: SessionRecord,
        asking asks: Bool, _ act: Act
    ) throws(AuthorityError) {
        var record = fresh
        (record.name, record.labels) = (dead.name, dead.labels)
        try act.transaction.save(record)
        var before = try act.transaction.activeSession(on: dead.installation)
        if before == nil { before = try act.transaction.lastEnded(on: dead.installation) }
        if let ended = before, ended.state != .active, !ended.isRenewable,
            try !narrows(ended, session) {
            before = nil
        }
        guard let before, before.scope != session.scope else {
            if asks { try tellUpdate(of: session, act.transaction, at: act.now) }
            return
        }
        try change(session, to: before.scope ?? .everything, act)
    }

    /// Whether the scope of an ended session can only take rights from another session. Somebody
    /// ended it, perhaps for what it allowed; and topics are granted by administrators alone.
    private func narrows(
        _ ended: SessionRecord, _ session: SessionRecord
    ) throws(AuthorityError) -> Bool {
        guard session.scope == nil, let scope = ended.scope else { return false }
        return try scope.document().topics.isEmpty
    }

    /// Ends all that lets the replaced board in.
    private func retire(_ dead: BoardRecord, _ act: Act) throws(AuthorityError) {
        let (board, transaction) = (dead.installation, act.transaction)
        var record = dead
        record.released = true
        record.labels = []
        try transaction.save(record)
        try transaction.forgetReport(of: board)
        try transaction.deleteCommands(of: board)
        if let open = try transaction.openClaim(on: board) {
            try close(
                open, as: .cancelled, detail: "", actor: act.user.username, transaction,
                at: act.now)
        }
        if let active = try transaction.activeSession(on: board) {
            try end(
                active, reason: UnavailableReason.revoked.rawValue, actor: act.user.username,
                endNotice: nil, transaction, at: act.now)
        }
        try forgetFarewells(on: board, transaction, at: act.now)
        try addBrokerJobs(board, transaction, at: act.now)
        try addReaderJobs(of: dead.owner, on: board, lost: true, transaction)
    }

    /// A person who has a share of both boards keeps that of the new one.
    private func moveShares(
        from old: InstallationID, to new: InstallationID, _ transaction: any AuthorityTransaction
    ) throws(AuthorityError) {
        for share in try transaction.shares(of: old) {
            _ = try transaction.deleteShare(share.id)
            guard try transaction.share(of: new, with: share.user) == nil else { continue }
            try transaction.save(share.moved(to: new))
        }
        try transaction.moveInvitations(from: old, to: new)
    }

    private func moveConsumers(
        of user: UserID, from old: InstallationID, to new: InstallationID,
        _ transaction: any AuthorityTransaction
    ) throws(AuthorityError) {
        for consumer in try transaction.consumers(of: user) {
            guard let boards = consumer.boards, boards.contains(old) else { continue }
            let moved = boards.filter { $0 != old && $0 != new } + [new]
            try transaction.setBoards(moved, of: consumer.id)
            try transaction.add(.reader(consumer.reader, mayDoLess: true))
        }
    }
}

/// The result of a replacement.
package struct BoardReplacement: Sendable {
    package let replaced: ReplacedBoard
    /// Whether the broker has cut the old board's login already.
    package let isBrokerTold: Bool
    /// Whether the old board's rules are kept for the new one to ask for.
    package let hasConfiguration: Bool

    package init(replaced: ReplacedBoard, isBrokerTold: Bool, hasConfiguration: Bool = false) {
        (self.replaced, self.isBrokerTold) = (replaced, isBrokerTold)
        self.hasConfiguration = hasConfiguration
    }
}

extension ScopeText {
    /// Everything that the contract leaves to a restricted session.
    static let everything = ScopeText("{\"default\":\"allow\",\"rules\":[]}")
}
