import AuthorityCore
import Sessions

/// No backup is ever restored here, so nothing is unknown.
extension MemoryTransaction {
    func latestTime() -> Timestamp? { nil }
    func newestSession() -> Timestamp? { nil }
    func gaps() -> [Gap] { [] }
    func add(_ gap: Gap) {}
    func hasGap(from first: Timestamp, to last: Timestamp) -> Bool { false }
    func isRestored() -> Bool { false }
    func settleGaps(at now: Timestamp) {}
    func settledAt() -> Timestamp? { nil }
    func noteUse(ofAllUsedSince time: Timestamp, at now: Timestamp) {}

    func mayNoteAhead(_ board: InstallationID, _ sign: AheadBoard.Sign) -> Bool {
        tables.ahead[board] == nil
    }

    func noteAhead(_ board: AheadBoard) -> Bool {
        guard tables.ahead[board.board] == nil else { return false }
        tables.ahead[board.board] = board
        return true
    }

    func forgetAhead(_ board: InstallationID) { tables.ahead[board] = nil }

    func aheadCount() -> Int { tables.ahead.count }
    func aheadBoards(limit: Int, of sign: AheadBoard.Sign?) -> [AheadBoard] {
        Array(tables.ahead.values.filter { sign == nil || $0.sign == sign }.prefix(limit))
    }
}
