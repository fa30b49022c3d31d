package import Sessions
package import Wire

/// The newest rules that a board has sent, for itself or for the board that took its place.
package struct KeptConfiguration: Equatable, Sendable {
    /// Empty: the board has deleted its rules. The time stays, so that none that it sent before
    /// come back.
    package let configuration: BoardConfiguration
    /// When the board sent it: `iat` of its message.
    package let savedAt: Timestamp

    package init(configuration: BoardConfiguration, savedAt: Timestamp) {
        (self.configuration, self.savedAt) = (configuration, savedAt)
    }
}

package protocol ConfigurationTable {
    func configuration(
        of board: InstallationID
    ) throws(AuthorityError) -> KeptConfiguration?
    /// Replaces the configuration of a board. Nil deletes it.
    func keep(
        _ kept: KeptConfiguration?, of board: InstallationID
    ) throws(AuthorityError)
}

package protocol ConfigurationFrontend: Sendable {
    /// The rules that a board has sent. The caller's own board, or any board for an administrator;
    /// otherwise 101, as for a board that has sent none.
    func configuration(
        of board: InstallationID, by caller: Caller
    ) async throws(AuthorityError) -> KeptConfiguration
}

extension Authority {
    package func configuration(
        of board: InstallationID, by caller: Caller
    ) async throws(AuthorityError) -> KeptConfiguration {
        try await look(.configuration, by: caller) { act throws(AuthorityError) in
            _ = try act.board(board, to: .own)
            guard let kept = try act.transaction.configuration(of: board),
                !kept.configuration.isEmpty
            else {
                throw .refuse(.notFound, "the board has sent no configuration")
            }
            return kept
        }
    }

    /// Gives the configuration of a replaced board to the new one, unless that has sent its own.
    /// Returns whether the new board has one to ask for.
    func moveConfiguration(
        from old: InstallationID, to new: InstallationID, _ transaction: any AuthorityTransaction
    ) throws(AuthorityError) -> Bool {
        guard let kept = try transaction.configuration(of: old) else { return false }
        try transaction.keep(nil, of: old)
        let own = try transaction.configuration(of: new)
        guard !kept.configuration.isEmpty, own?.configuration.isEmpty != false else {
            return false
        }
        // No earlier message of the new board may replace them.
        try transaction.keep(
            KeptConfiguration(
                configuration: kept.configuration,
                savedAt: max(kept.savedAt, own?.savedAt ?? kept.savedAt)),
            of: new)
        return true
    }
}

// The requests of a board about its configuration.
extension BoardRequest {
    /// Two absent texts delete what was kept. A broker can hold a message back, so one that was
    /// made before the kept one is refused (142). If the board's clock went back, the board sends
    /// its rules again later. A time that is too far ahead was kept while the authority's clock
    /// was, and does not count.
    func save(_ configuration: BoardConfiguration) throws(AuthorityError) -> BoardAnswer {
        let kept = try transaction.configuration(of: sender.board)
        if let kept, message.issuedAt < kept.savedAt,
            kept.savedAt <= now + AuthorityRules.clockTolerance
        {
            return try reply(.error(Refusal(
                .validation, "newer rules of this board are kept; send yours again later")))
        }
        try transaction.keep(
            KeptConfiguration(configuration: configuration, savedAt: message.issuedAt),
            of: sender.board)
        return try reply(.result(Reply.Result()))
    }

    /// The answer is not kept for a redelivery, because it is large and reading it again does no
    /// harm.
    func keptConfiguration() throws(AuthorityError) -> BoardAnswer {
        var result = Reply.Result()
        let kept = try transaction.configuration(of: sender.board)?.configuration
        result.configuration = kept.flatMap { $0.isEmpty ? nil : $0 }
        let reply = Reply(re: message.id, now: authority.clock(), outcome: .result(result))
        return .reply(try authority.sealed(reply, to: sender))
    }
}
