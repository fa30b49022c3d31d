package import Sessions
import Wire

/// A board with details that only its own page shows.
package struct BoardDetail: Equatable, Sendable {
    package let board: Board
    package let openClaim: Claim?
    /// The boards whose place it took, the oldest first.
    package let replaced: [ReplacedBoard]

    package init(board: Board, openClaim: Claim?, replaced: [ReplacedBoard] = []) {
        self.board = board
        self.openClaim = openClaim
        self.replaced = replaced
    }
}

/// A board's display name: 1 to 64 visible characters, no control or format characters.
package struct BoardName: Hashable, Sendable, CustomStringConvertible {
    package let description: String

    package init?(_ text: String) {
        guard !text.isEmpty, text.utf8.count <= 1024, ClaimURL.shown(text) == text else {
            return nil
        }
        description = text
    }
}

extension Act {
    /// A board of the caller, or any board for an administrator. Otherwise throws 101.
    func ownBoard(_ id: InstallationID) throws(AuthorityError) -> BoardRecord {
        guard let record = try transaction.board(id), !record.released,
            record.owner == user.objectID || user.isAdministrator
        else { throw .refuse(.notFound, "no such board") }
        return record
    }
}

extension Authority {
    package func board(
        _ id: InstallationID, by caller: Caller
    ) async throws(AuthorityError) -> BoardDetail {
        try await look(.board, by: caller) { act throws(AuthorityError) in
            let record = try act.ownBoard(id)
            guard let board = try view(of: record, act.transaction, at: act.now) else {
                throw .refuse(.notFound, "no such board")
            }
            return BoardDetail(
                board: board,
                openClaim: try act.transaction.openClaim(on: id)?.view(at: act.now),
                replaced: try act.transaction.replaced(by: id))
        }
    }
}
