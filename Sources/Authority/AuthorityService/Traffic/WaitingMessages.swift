import Sessions

/// The number of waiting messages of each board. A board is served one message at a time. Without a
/// limit it would fill its lane, and its messages would count as load, which delays other boards.
struct WaitingMessages: Sendable {
    /// The limit for one board, including the message that is being handled.
    static let each = 8

    private var boards: [InstallationID: Int] = [:]

    /// False if this board has reached its limit; then nothing is counted. Call `leave` for each
    /// message that entered.
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
