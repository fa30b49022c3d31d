package import Sessions
package import Wire

/// A change of a board. Nil: it stays as it is.
package struct BoardChange: Equatable, Sendable {
    package enum Labels: Equatable, Sendable {
        case set(Set<BoardLabel>)
        /// Other labels stay, also if several people change them at once.
        case change(adding: Set<BoardLabel>, removing: Set<BoardLabel>)

        fileprivate func applied(to labels: [BoardLabel]) -> [BoardLabel] {
            switch self {
            case .set(let labels): labels.sorted()
            case .change(let added, let removed):
                added.union(labels).subtracting(removed).sorted()
            }
        }
    }

    package let name: BoardName?
    package let labels: Labels?

    package init(name: BoardName? = nil, labels: Labels? = nil) {
        self.name = name
        self.labels = labels
    }
}

extension Authority {
    package func change(
        _ board: InstallationID, _ change: BoardChange, by caller: Caller
    ) async throws(AuthorityError) -> Board {
        try await act(.rename, by: caller) { act throws(AuthorityError) in
            let permitted = try act.board(board, to: change.labels == nil ? .manage : .own)
            var record = permitted.record
            let before = record
            if let name = change.name { record.name = name.description }
            if let labels = change.labels { record.labels = labels.applied(to: record.labels) }
            guard record.labels.count <= BoardLabel.most else {
                throw .refuse(.validation, "a board has at most \(BoardLabel.most) labels")
            }
            if record.name != before.name || record.labels != before.labels {
                try act.transaction.save(record)
            }
            if record.name != before.name {
                try audit(
                    "board.renamed", act.user.username, board, nil,
                    "\(record.name), before: \(before.name)", act.transaction, at: act.now)
            }
            if record.labels != before.labels {
                try audit(
                    "board.labeled", act.user.username, board, nil,
                    record.labels.map(\.description).joined(separator: ", "), act.transaction,
                    at: act.now)
            }
            let changed = PermittedBoard(record: record, right: permitted.right)
            guard let view = try view(of: changed, act) else {
                throw .refuse(.notFound, "no such board")
            }
            return view
        }
    }
}
