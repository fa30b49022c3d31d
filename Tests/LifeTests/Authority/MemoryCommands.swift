import AuthorityCore
import Sessions

/// Nobody sends commands here; `AuthorityTests` has them on both stores.
extension MemoryTransaction {
    func command(_ id: MessageID) -> CommandRecord? { nil }
    func commands(of board: InstallationID, limit: Int) -> [CommandRecord] { [] }
    func openCommands(of board: InstallationID) -> [CommandRecord] { [] }
    func openCommands(by user: UserID) -> [CommandRecord] { [] }
    func dueCommands(at now: Timestamp, limit: Int) -> [CommandRecord] { [] }
    func commandCount(of board: InstallationID, deadlineAfter time: Timestamp) -> Int { 0 }
    func commandTime(
        of board: InstallationID, skipping skipped: Int, since: Timestamp
    ) -> Timestamp? { nil }
    func insert(_ command: CommandRecord) throws(AuthorityError) {
        throw refuse("no commands here")
    }
    func update(_ command: CommandRecord) {}
    func deleteCommands(of board: InstallationID) {}
    func deleteCommands(deadlineBefore time: Timestamp, limit: Int) -> Int { 0 }
}
