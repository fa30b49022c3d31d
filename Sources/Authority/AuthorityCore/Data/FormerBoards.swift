package import Sessions

/// A board that a user had. The user may still have some of its records.
package struct FormerBoard: Equatable, Sendable {
    package let installation: InstallationID
    /// Nil if somebody else has the board now. Its present name is not for the user.
    package let name: String?

    /// The most boards of a list.
    package static let limit = 200

    package init(installation: InstallationID, name: String?) {
        (self.installation, self.name) = (installation, name)
    }
}

extension Act {
    /// Nil if the caller has the board now. A board that does not exist is like one of somebody
    /// else, so an answer tells nothing about it.
    ///
    /// The records of a replaced board are among those of the board that has its place.
    fileprivate func former(_ id: InstallationID) throws(AuthorityError) -> FormerBoard? {
        if let replaced = try transaction.replacement(of: id),
            let successor = try transaction.board(replaced.successor), !successor.released,
            successor.owner == user.objectID
        { return nil }
        guard let record = try transaction.board(id), record.owner == user.objectID else {
            return FormerBoard(installation: id, name: nil)
        }
        return record.released ? FormerBoard(installation: id, name: record.name) : nil
    }
}

extension Authority {
    package func formerBoards(
        among boards: [InstallationID], by caller: Caller
    ) async throws(AuthorityError) -> [FormerBoard] {
        try await look(.ownBoards, by: caller, nothing: []) { act throws(AuthorityError) in
            // Most boards of a long list are present ones, which are read in pages.
            var present: Set<InstallationID> = []
            if boards.count > 1 {
                try eachBoard(of: act.user.objectID, act.transaction) {
                    present.insert($0.installation)
                }
            }
            var former: [FormerBoard] = []
            for board in boards where !present.contains(board) {
                guard former.count < FormerBoard.limit else { break }
                if let board = try act.former(board) { former.append(board) }
            }
            return former
        }
    }

    package func dataDeletion(
        of board: InstallationID, by caller: Caller
    ) async throws(AuthorityError) -> DataRelease {
        try await act(.deleteData, by: caller) { act throws(AuthorityError) in
            guard let former = try act.former(board) else {
                throw .refuse(
                    .forbidden, "you have this board, or the one that took its place; its data is "
                        + "deleted when you release it")
            }
            try audit(
                "data.deleted", act.user.username, board, nil, former.name ?? "",
                act.transaction, at: act.now)
            return DataRelease(board: board, owner: act.user.objectID, at: act.now)
        }
    }
}
