import AuthorityCore
import Sessions
import Testing
import Wire

@Suite("Delivery of a command", .everyStore)
struct CommandDeliveryTests {
    /// Whether tending asked for a sending.
    private func isAsked(_ live: LiveBoard) async throws -> Bool {
        _ = try await live.house.settle(live.board)
        try await live.house.authority.tendCommands()
        let jobs = try await live.house.authority.jobs(in: live.board.installation.description)
        return jobs.contains { $0.job == .commands(live.board.installation) }
    }

    @Test("is repeated under the same id: after 10 s, doubling to 60 s, until the board has it")
    func repeated() async throws {
        let house = try await House()
        let ada = try await house.login()
        let live = try await house.provisioned(BoardDouble(), by: ada)
        try await live.status(up: true)
        let sent = try await live.send(wait: 600, by: ada)
        var payloads: Set<[UInt8]> = []
        for pause in [10, 20, 40, 60, 60] as [Int64] {
            let received = try await live.receive()
            #expect(received.map(\.id) == [sent.record.id])
            payloads.formUnion(received.map(\.payload))
            #expect(try await live.receive().isEmpty)
            house.clock.advance(.seconds(pause - 1))
            #expect(try await !isAsked(live))
            house.clock.advance(.seconds(1))
            #expect(try await isAsked(live))
        }
        #expect(payloads.count == 5)
        try await live.say(.delivered(isUncertain: true), of: sent)
        #expect(try await live.receive().isEmpty)
        #expect(try await live.command(sent, by: ada).delivery == .uncertain)
    }

    @Test("waits for a board that is away, and comes as soon as it connects")
    func away() async throws {
        let house = try await House()
        let ada = try await house.login()
        let live = try await house.provisioned(BoardDouble(), by: ada)
        try await live.status(up: true)
        house.clock.advance(.seconds(1))
        try await live.status(up: false)
        let sent = try await live.send(wait: 600, by: ada)
        #expect(try await live.receive().isEmpty)
        house.clock.advance(.seconds(59))
        #expect(try await !isAsked(live))
        _ = house.worker.woken()
        try await live.status(up: true)
        #expect(house.worker.woken() == [live.board.installation.description])
        #expect(try await live.receive().map(\.id) == [sent.record.id])
        // The connection was lost with what was on it. A board that says so in a loop gets nothing.
        for _ in 0..<9 {
            house.clock.advance(.seconds(1))
            try await live.status(up: true)
            #expect(try await live.receive().isEmpty)
        }
        house.clock.advance(.seconds(1))
        try await live.status(up: true)
        let jobs = try await house.authority.jobs(in: live.board.installation.description)
        #expect(jobs.filter { $0.job == .commands(live.board.installation) }.count <= 2)
        #expect(try await live.receive().map(\.id) == [sent.record.id])
        // A status that says the same is no connection.
        try await live.status(up: true)
        #expect(try await live.receive().isEmpty)
    }

    @Test("reaches a board whose status is lost but which beats")
    func beats() async throws {
        let house = try await House()
        let ada = try await house.login()
        let live = try await house.provisioned(BoardDouble(), by: ada)
        let sent = try await live.send(wait: 600, by: ada)
        #expect(try await live.receive().isEmpty)
        house.clock.advance(.seconds(60))
        _ = try await live.authenticate()
        #expect(try await isAsked(live))
        #expect(try await live.receive().map(\.id) == [sent.record.id])
    }

    @Test("asks for no second job while the first one waits for the broker")
    func oneJob() async throws {
        let house = try await House()
        let ada = try await house.login()
        let live = try await house.provisioned(BoardDouble(), by: ada)
        _ = try await house.settle(live.board)
        _ = try await live.send(wait: 600, by: ada)
        for _ in 0..<5 {
            house.clock.advance(.seconds(10))
            try await house.authority.tendCommands()
        }
        #expect(try await house.authority.jobs(in: live.board.installation.description).count == 1)
    }

    @Test("ends at the deadline, is uncertain if it was sent, and the board's late word counts")
    func expired() async throws {
        let house = try await House()
        let ada = try await house.login()
        let live = try await house.provisioned(BoardDouble(), by: ada)
        try await live.status(up: true)
        var sent: [SentCommand] = []
        for _ in 0..<4 { sent.append(try await live.send(wait: 60, by: ada)) }
        _ = try await live.receive()
        for index in [1, 2, 3] {
            try await live.say(.delivered(isUncertain: false), of: sent[index])
        }
        house.clock.advance(.seconds(61))
        #expect(try await live.receive().isEmpty)
        try await house.authority.tendCommands()
        #expect(try await live.command(sent[0], by: ada).state == .waiting)
        house.clock.advance(.seconds(1))
        try await house.authority.tendCommands()
        var shown: [CommandRecord] = []
        for command in sent { shown.append(try await live.command(command, by: ada)) }
        #expect(shown.map(\.state) == Array(repeating: .expired, count: 4))
        #expect(shown.map(\.delivery) == [.uncertain, .sure, .sure, .sure])
        #expect(try await house.audit("command.expired").map(\.actor)
            == Array(repeating: "authority", count: 4))
        try await live.say(.answered(.bool(true)), of: sent[1])
        #expect(try await live.command(sent[1], by: ada).state == .answered)
        // The board's own word is final.
        try await live.say(.expired(delivered: true), of: sent[2])
        try await live.say(.answered(.bool(true)), of: sent[2])
        #expect(try await live.command(sent[2], by: ada).state == .expired)
        house.clock.advance(.seconds(600))
        try await live.say(.answered(.bool(true)), of: sent[3])
        #expect(try await live.command(sent[3], by: ada).state == .answered)
        try await live.say(.expired(delivered: false), of: sent[0])
        #expect(try await live.command(sent[0], by: ada).delivery == .none)
    }

    @Test("is known as not delivered if it was never sent")
    func unsent() async throws {
        let house = try await House()
        let ada = try await house.login()
        let live = try await house.provisioned(BoardDouble(), by: ada)
        let sent = try await live.send(by: ada)
        #expect(try await live.receive().isEmpty)
        house.clock.advance(.seconds(62))
        try await house.authority.tendCommands()
        let shown = try await live.command(sent, by: ada)
        #expect(shown.state == .expired && shown.delivery == .none)
    }

    @Test("ends with the session, and goes with the board")
    func endings() async throws {
        let house = try await House()
        let ada = try await house.login()
        let bob = try await house.addUser("bob")
        let live = try await house.provisioned(BoardDouble(), by: bob)
        try await live.status(up: true)
        let sent = try await live.send(by: bob)
        let had = try await live.send(by: bob)
        try await live.say(.delivered(isUncertain: false), of: had)
        try await house.authority.revoke(live.session, by: bob)
        let shown = try await live.command(sent, by: bob)
        #expect(shown.state == .refused && shown.refusal?.refusal.is(.invalidSession) == true)
        #expect(shown.dueAt == nil)
        // The app has this one.
        let other = try await live.command(had, by: bob)
        #expect(other.state == .expired && other.delivery == .sure && other.dueAt == nil)
        #expect(try await live.receive().isEmpty)
        #expect(try await house.audit("command.refused").map(\.actor) == ["bob"])
        // A later word changes nothing of what was never sent.
        try await live.say(.answered(.null), of: sent)
        #expect(try await live.command(sent, by: bob).state == .refused)
        let board = live.board.installation
        try await house.authority.release(board, by: bob)
        let next = try await house.provisioned(live.board.pairedAnew(), by: ada)
        #expect(try await house.authority.commands(of: board, by: ada).isEmpty)
        _ = try await next.send(by: ada)
        #expect(try await house.authority.commands(of: board, by: ada).count == 1)
    }

    @Test("ends if the administrator who sent it is disabled before the board has it")
    func disabled() async throws {
        let house = try await House()
        let ada = try await house.login()
        _ = try await house.authority.addUser(
            NewUser(
                username: "root", password: house.password, isAdministrator: true,
                mayClaim: true), actor: "test")
        let root = try await house.login("root")
        let live = try await house.provisioned(BoardDouble(), by: ada)
        let (sent, had) = (try await live.send(by: root), try await live.send(by: root))
        let own = try await live.send(by: ada)
        try await live.say(.delivered(isUncertain: false), of: had)
        _ = try await house.authority.setEnabled(false, user: "root", by: ada)
        #expect(try await live.command(sent, by: ada).state == .refused)
        #expect(try await live.command(had, by: ada).state == .delivered)
        #expect(try await live.command(own, by: ada).state == .waiting)
    }

    @Test("is confirmed by its own board alone")
    func foreign() async throws {
        let house = try await House()
        let ada = try await house.login()
        let live = try await house.provisioned(BoardDouble(), by: ada)
        let other = try await house.provisioned(BoardDouble(), by: ada)
        let sent = try await live.send(by: ada)
        // The other board's final results are answered, so that it stops; they change nothing.
        let answer = try await other.say(.answered(.null), of: sent)
        #expect(answer != .silent)
        _ = try await live.say(.commandResult(CommandResult(
            re: sent.record.id, session: other.session, state: .answered(.null))))
        _ = try await live.say(.commandResult(CommandResult(
            re: .fresh(), session: live.session, state: .expired(delivered: false))))
        #expect(try await live.command(sent, by: ada).state == .waiting)
        try await live.say(
            .refused(Refusal(.validation, "at most 30"), rule: "policy.toml:app.heater",
                field: "celsius"), of: sent)
        let shown = try await live.command(sent, by: ada)
        #expect(shown.refusal == CommandRefusal(
            refusal: Refusal(code: 142, text: "at most 30"), rule: "policy.toml:app.heater",
            field: "celsius"))
        try await live.say(.answered(.null), of: sent)
        #expect(try await live.command(sent, by: ada).state == .refused)
        #expect(try await house.audit("command.refused").map(\.detail)
            == ["heater \(sent.record.id), 142"])
    }
}
