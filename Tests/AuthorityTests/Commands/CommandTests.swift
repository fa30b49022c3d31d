import AuthorityCore
import Gate
import Sessions
import Testing
import Wire

extension LiveBoard {
    /// The board's status at the broker, since now.
    func status(up: Bool) async throws {
        try await house.authority.note(
            BoardStatus(up: up, available: true, version: "t", since: house.clock.now),
            of: board.installation)
    }

    /// A heartbeat with a policy that takes commands for these apps.
    func report(commandsFor apps: [String]) async throws {
        let entries = apps.map { ($0, JSONValue.object(["commands": .bool(true)])) }
        let policy = try PolicyDocument(json: .object([
            "default": .string("allow"), "rules": .array([]),
            "apps": .object(Dictionary(uniqueKeysWithValues: entries)),
        ]))
        _ = try await tell(.sample(0, rules: .file(policy)))
    }

    /// Publishes what is due, as a worker would, and opens it as the board would.
    func receive() async throws -> [(id: MessageID, command: BoardCommand, payload: [UInt8])] {
        let due = try await house.authority.commandsToSend(to: board.installation)
        try await house.authority.note(sent: Set(due.map(\.id)), to: board.installation)
        return try due.map { sent in
            let message = try board.open(sent.payload, from: sealKey)
            guard case .command(let command) = message.body else { throw NotThat() }
            #expect(message.id == sent.id && message.issuedAt.seconds == house.clock.now.seconds)
            return (message.id, command, sent.payload)
        }
    }

    @discardableResult
    func say(_ state: CommandResult.State, of command: SentCommand) async throws -> BoardAnswer {
        try await say(.commandResult(CommandResult(
            re: command.record.id, session: command.record.session, state: state)))
    }

    func order(_ text: String = #"{"celsius":21}"#, wait: Int64 = 60) throws -> CommandOrder {
        CommandOrder(
            board: board.installation, app: try #require(AppName("heater")),
            content: try JSONValue(parsing: Array(text.utf8)), wait: .seconds(wait))
    }

    func send(
        _ text: String = #"{"celsius":21}"#, wait: Int64 = 60, by caller: Caller
    ) async throws -> SentCommand {
        try await house.authority.send(try order(text, wait: wait), by: caller)
    }

    func command(_ sent: SentCommand, by caller: Caller) async throws -> CommandRecord {
        try await house.authority.command(
            sent.record.id, of: board.installation, by: caller).record
    }
}

@Suite("A command to a board", .everyStore)
struct CommandTests {
    private func isReply(_ answer: BoardAnswer) -> Bool {
        if case .reply = answer { true } else { false }
    }

    @Test("is sealed, delivered and answered, and no log has its text")
    func answered() async throws {
        let house = try await House()
        let ada = try await house.login()
        let live = try await house.provisioned(BoardDouble(), by: ada)
        try await live.status(up: true)
        _ = house.worker.woken()
        let sent = try await live.send(by: ada)
        #expect(house.worker.woken() == [live.board.installation.description])
        #expect(sent.record.state == .waiting && sent.username == "ada")
        let received = try await live.receive()
        #expect(received.map(\.id) == [sent.record.id])
        let command = try #require(received.first?.command)
        #expect(command.session == live.session && command.app == "heater")
        #expect(command.content.text == #"{"celsius":21}"#)
        #expect(command.deadline == sent.record.deadline)
        #expect(try await live.say(.delivered(isUncertain: false), of: sent) == .silent)
        #expect(try await live.command(sent, by: ada).state == .delivered)
        let answer = try JSONValue(parsing: Array(#"{"ok":true}"#.utf8))
        #expect(isReply(try await live.say(.answered(answer), of: sent)))
        let shown = try await live.command(sent, by: ada)
        #expect(shown.state == .answered && shown.delivery == .sure)
        #expect(shown.answer == #"{"ok":true}"# && shown.text == #"{"celsius":21}"#)
        let entries = try await house.audit("command.sent") + house.audit("command.answered")
        #expect(entries.map(\.actor) == ["ada", "board"])
        #expect(entries.allSatisfy { $0.detail == "heater \(sent.record.id)" })
        let list = try await house.authority.commands(of: live.board.installation, by: ada)
        #expect(list.map(\.record.id) == [sent.record.id])
    }

    @Test("is for its owner and administrators, in an unrestricted session")
    func rights() async throws {
        let house = try await House()
        let ada = try await house.login()
        let (bob, eve) = (try await house.addUser("bob"), try await house.addUser("eve"))
        let live = try await house.provisioned(BoardDouble(), by: bob)
        let board = live.board.installation
        let sent = try await live.send(by: bob)
        _ = try await live.send(by: ada)
        await expectRefusal(.notFound) { try await live.send(by: eve) }
        await expectRefusal(.notFound) { try await house.authority.commands(of: board, by: eve) }
        await expectRefusal(.notFound) { try await live.command(sent, by: eve) }
        let device = try await house.device(by: bob).caller
        await expectRefusal(.forbidden) { try await live.send(by: device) }
        await expectRefusal(.notFound) { try await house.authority.commands(of: board, by: device) }
        await expectRefusal(.forbidden) { try await live.send(by: .master) }
        // A command of one board is not found below another.
        let other = try await house.provisioned(BoardDouble(), by: bob)
        await expectRefusal(.notFound) { try await other.command(sent, by: bob) }
    }

    @Test("is refused at once without a session, or where the board takes none")
    func refusedAtOnce() async throws {
        let house = try await House()
        let ada = try await house.login()
        let live = try await house.provisioned(BoardDouble(), by: ada)
        // Not known: the board decides.
        _ = try await live.send(by: ada)
        try await live.report(commandsFor: ["heater"])
        _ = try await live.send(by: ada)
        try await live.report(commandsFor: ["fan"])
        let words = await refusal { try await live.send(by: ada) }
        #expect(words?.is(.forbidden) == true)
        #expect(words?.text.contains("commands = true below [app.heater]") == true)
        _ = try await live.tell(.sample(0, rules: .noFile))
        await expectRefusal(.forbidden) { try await live.send(by: ada) }
        _ = try await live.tell(.sample(0, rules: .omitted))
        _ = try await live.send(by: ada)
        try await house.authority.revoke(live.session, by: ada)
        await expectRefusal(.forbidden) { try await live.send(by: ada) }
    }

    @Test("has limits: its wait, its size, how many wait, how many a minute")
    func limits() async throws {
        let house = try await House()
        let ada = try await house.login()
        let live = try await house.provisioned(BoardDouble(), by: ada)
        for wait in [0, 86_401] as [Int64] {
            await expectRefusal(.validation) { try await live.send(wait: wait, by: ada) }
        }
        let full = #""\#(String(repeating: "a", count: BoardCommand.sizeLimit - 2))""#
        _ = try await live.send(full, wait: 86_400, by: ada)
        await expectRefusal(.tooLarge) {
            try await live.send("[\(full)]", by: ada)
        }
        for _ in 1..<CommandLimits.waitingLimit { _ = try await live.send("null", by: ada) }
        await expectRefusal(.quota) { try await live.send(by: ada) }
        house.clock.advance(.seconds(61))
        try await house.authority.tendCommands()
        house.clock.advance(.seconds(2))
        try await house.authority.tendCommands()
        // The first one waits on. Each of these ends at once.
        for count in 0..<60 {
            if count == 30 { house.clock.advance(.seconds(1)) }
            let sent = try await live.send(wait: 1, by: ada)
            try await live.say(
                .refused(Refusal(.forbidden, "no"), rule: "builtin:command", field: nil), of: sent)
        }
        let refused = await refusal { try await live.send(by: ada) }
        #expect(refused?.is(.rateLimit) == true && refused?.retryAfter == .seconds(59))
        house.clock.advance(.seconds(60))
        // The board keeps an id until the deadline, whatever became of the command.
        for _ in 1..<CommandLimits.aheadLimit {
            let sent = try await live.send(by: ada)
            try await live.say(.answered(.null), of: sent)
        }
        await expectRefusal(.quota) { try await live.send(by: ada) }
        // The list is short, and old texts are deleted.
        let board = live.board.installation
        #expect(try await house.authority.commands(of: board, by: ada).count
            == CommandLimits.listLength)
    }

    @Test("keeps its text while it is among the newest of its board or waits")
    func texts() async throws {
        let house = try await House()
        let ada = try await house.login()
        let live = try await house.provisioned(BoardDouble(), by: ada)
        let waiting = try await live.send(wait: 86_400, by: ada)
        var ended: [SentCommand] = []
        for count in 0...CommandLimits.textsOfBoard {
            if count % 50 == 0 { house.clock.advance(.seconds(61)) }
            let sent = try await live.send(by: ada)
            try await live.say(
                count > 0 ? .answered(.null)
                    : .refused(Refusal(.forbidden, "no"), rule: nil, field: nil), of: sent)
            ended.append(sent)
        }
        #expect(try await live.command(waiting, by: ada).text != nil)
        let first = try await live.command(try #require(ended.first), by: ada)
        #expect(first.text == nil && first.refusal == nil && first.state == .refused)
        let second = try await live.command(ended[1], by: ada)
        #expect(second.text != nil && second.answer == "null")
    }

    @Test("is kept for a day after its deadline")
    func swept() async throws {
        let house = try await House(lifetimes: .longLived)
        let ada = try await house.login()
        let live = try await house.provisioned(BoardDouble(), by: ada)
        let sent = try await live.send(by: ada)
        house.clock.advance(.seconds(60 + 86_400))
        try await house.authority.tendCommands()
        _ = try await house.authority.sweep()
        #expect(try await live.command(sent, by: ada).state == .expired)
        house.clock.advance(.seconds(1))
        _ = try await house.authority.sweep()
        await expectRefusal(.notFound) { try await live.command(sent, by: ada) }
    }
}
