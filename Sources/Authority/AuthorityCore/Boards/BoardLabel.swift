package import Sessions

/// A word by which an owner groups boards: 1 to 32 of `a-z`, `0-9`, `.`, `_` and `-`. The first is
/// a letter or a digit.
package struct BoardLabel: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The most labels of one board.
    package static let most = 8
    private static let longest = 32

    package let description: String

    package init?(_ text: String) {
        guard (1...Self.longest).contains(text.utf8.count), let first = text.utf8.first,
            Self.isLetterOrDigit(first),
            text.utf8.allSatisfy({ Self.isLetterOrDigit($0) || ".-_".utf8.contains($0) })
        else { return nil }
        description = text
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        default: false
        }
    }

    package static func < (first: Self, second: Self) -> Bool {
        first.description < second.description
    }
}

extension Authority {
    /// Sets the labels of a board: at most `BoardLabel.most`. Equal ones count once.
    package func label(
        _ board: InstallationID, _ labels: [BoardLabel], by caller: Caller
    ) async throws(AuthorityError) -> Board {
        let labels = Set(labels).sorted()
        guard labels.count <= BoardLabel.most else {
            throw .refuse(.validation, "a board has at most \(BoardLabel.most) labels")
        }
        return try await act(.rename, by: caller) { act throws(AuthorityError) in
            var record = try act.ownBoard(board)
            if record.labels != labels {
                record.labels = labels
                try act.transaction.save(record)
                try audit(
                    "board.labeled", act.user.username, board, nil,
                    labels.map(\.description).joined(separator: ", "), act.transaction,
                    at: act.now)
            }
            guard let view = try view(of: record, act.transaction, at: act.now) else {
                throw .refuse(.notFound, "no such board")
            }
            return view
        }
    }
}
