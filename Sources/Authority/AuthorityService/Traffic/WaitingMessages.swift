import Sessions

/// How many messages of each board wait. A board is served one message at a time:
/// without a bound of its own it would fill its lane, and what waits there would be taken for
/// a load that other boards' messages have to wait for.
struct WaitingMessages: Sendable {
    /// So many of one board, with the one that is worked at.
    static let each = 8

    private var boards: [InstallationID: Int] = [:]

    /// False if enough of this board waits; nothing is counted then. Who entered must leave.
    mutating func enter(_ board: InstallationID) -> Bool {
        let own = boards[board] ?? 0
        guard own < Self.each else { return false }
        boards[board] = own + 1
        return true
    }

    mutating func leave(_ board: InstallationID) {
        guard let own = boards[board] else { return }
        boards[board] = own > 1 ? own - 1 : nil
    }
}
