import AuthorityCore
import Gate
import Sessions
import Wire

/// Commands to the stub's board: noted, and in the state that the test sets.
extension StubFrontend {
    static let commandID = "6f0f2ab1-8b3c-4f5e-9a55-0d2c4a1f9e11"

    func send(
        _ order: CommandOrder, by caller: Caller
    ) async throws(AuthorityError) -> SentCommand {
        try note(
            "send \(order.app) \(order.content.text), \(order.wait.components.seconds) s")
        return try sentCommand(.waiting)
    }

    func commands(
        of board: InstallationID, by caller: Caller
    ) async throws(AuthorityError) -> [SentCommand] {
        try note("commands")
        return [try sentCommand(commandState)]
    }

    func command(
        _ id: MessageID, of board: InstallationID, by caller: Caller
    ) async throws(AuthorityError) -> SentCommand {
        try note("command")
        guard id.description == Self.commandID else {
            throw .refused(Refusal(.notFound, "no such command"))
        }
        return try sentCommand(commandState)
    }

    private func sentCommand(
        _ state: CommandRecord.State
    ) throws(AuthorityError) -> SentCommand {
        guard let id = MessageID(Self.commandID), let board = InstallationID(Self.iid),
            let session = ObjectID("sEsS000002"), let user = UserID("uSeR000001"),
            let app = AppName("heater")
        else { throw .sessionOver }
        let start = Timestamp(milliseconds: Int64(Self.start) * 1000)
        var record = CommandRecord(
            id: id, board: board, session: session, user: user, app: app,
            text: #"{"celsius":21}"#, createdAt: start, deadline: start + .seconds(60))
        record.state = state
        switch state {
        case .answered: (record.answer, record.delivery) = (#"{"ok":true}"#, .sure)
        case .refused:
            record.refusal = CommandRefusal(
                refusal: Refusal(.validation, "the number must be at most 30"),
                rule: "policy.toml:app.heater", field: "celsius")
        case .delivered: record.delivery = .uncertain
        case .waiting, .expired: record.delivery = commandDelivery
        }
        return SentCommand(record: record, username: "alice")
    }
}

/// The rules that the stub's board has sent.
extension StubFrontend {
    func configuration(
        of board: InstallationID, by caller: Caller
    ) async throws(AuthorityError) -> KeptConfiguration {
        try note("configuration \(board)")
        return KeptConfiguration(
            configuration: BoardConfiguration(
                policy: "default = \"deny\"\n", routes: "[[route]]\nfrom = \"a/+\"\n"),
            savedAt: Timestamp(milliseconds: 5_000))
    }
}
