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

extension Authority {
    package func board(
        _ id: InstallationID, by caller: Caller
    ) async throws(AuthorityError) -> BoardDetail {
        try await look(.board, by: caller) { act throws(AuthorityError) in
            let permitted = try act.board(id, to: .see)
            guard let board = try view(of: permitted, act) else {
                throw .refuse(.notFound, "no such board")
            }
            let open = permitted.right.permits(.own) ? try act.transaction.openClaim(on: id) : nil
            return BoardDetail(
                board: board, openClaim: open?.view(at: act.now),
                replaced: try act.transaction.replaced(by: id))
        }
    }
}
