import AuthorityCore
import Sessions
import Testing
import Wire

@Suite("Scope change", .everyStore)
struct ScopeChangeTests {
    private func scope(_ text: String) throws -> ScopeDocument {
        ScopeDocument(unchecked: try JSONValue(parsing: Array(text.utf8)))
    }

    private static let readings =
        #"{"default":"deny","rules":[{"class":"Reading","allow":["create"]}]}"#

    /// An update as the board opens it: its id, its number and its scope.
    private func opened(
        _ payload: [UInt8]?, _ live: LiveBoard
    ) throws -> (id: MessageID, sequence: Int64, scope: ScopeDocument?) {
        let message = try live.board.open(try #require(payload), from: live.sealKey)
        guard case .updated(let sequence, _, let scope) = message.body else { throw NotThat() }
        return (message.id, sequence, scope)
    }

    /// The update that the board's inbox retains.
    private func retained(
        _ live: LiveBoard
    ) async throws -> (id: MessageID, sequence: Int64, scope: ScopeDocument?) {
        #expect(try await live.house.settle(live.board).isEmpty)
        return try opened(await live.house.retained(live.board), live)
    }

    /// The one update that the board's jobs say, beside what is retained.
    private func told(
        _ live: LiveBoard
    ) async throws -> (id: MessageID, sequence: Int64, scope: ScopeDocument?) {
        let said = try await live.house.settle(live.board)
        #expect(said.count == 1)
        return try opened(said.last, live)
    }

    private func confirm(_ id: MessageID, _ live: LiveBoard) async throws {
        #expect(try await live.say(.sessionConfirmed(re: id, session: live.session)) == .silent)
    }

    @Test("reaches the board, waits for its confirmation, and is then in force")
    func confirmed() async throws {
        let house = try await House()
        let ada = try await house.login()
        let live = try await house.provisioned(BoardDouble(), by: ada)
        _ = try await house.settle(live.board)
        let new = try scope(Self.readings)
        let changed = try await house.authority.setScope(new, of: live.session, by: ada)
        #expect(changed.isScopePending && changed.scope == new)
        let told = try await retained(live)
        #expect(told.scope == new)
        let shown = try await house.authority.board(live.board.installation, by: ada).board
        #expect(shown.scope == new && shown.session?.isScopePending == true)
        // Neither another message nor another board confirms it.
        try await confirm(.fresh(), live)
        let other = try await house.provisioned(BoardDouble(), by: ada)
        #expect(try await other.say(.sessionConfirmed(re: told.id, session: live.session))
            == .silent)
        #expect(try await house.authority.session(live.session, by: ada).isScopePending)
        try await confirm(told.id, live)
        let view = try await house.authority.session(live.session, by: ada)
        #expect(!view.isScopePending && view.scope == new)
        #expect(try await house.audit("session.scope").map(\.detail)
            == ["in force on the board", "changed; waiting for the board"])
        #expect(try await house.settle(live.board).isEmpty)
        #expect(try await house.retained(live.board) == nil)
        // The same again changes nothing.
        let same = try await house.authority.setScope(new, of: live.session, by: ada)
        #expect(!same.isScopePending)
        #expect(try await house.settle(live.board).isEmpty)
    }

    @Test("is sent again with each heartbeat under its id and a new number, until confirmed")
    func repeated() async throws {
        let house = try await House()
        let ada = try await house.login()
        let live = try await house.provisioned(BoardDouble(), by: ada)
        _ = try await house.settle(live.board)
        _ = try await house.authority.setScope(try scope(Self.readings), of: live.session, by: ada)
        let first = try await retained(live)
        #expect(try await live.authenticate().result?.scope == first.scope)
        let second = try await told(live)
        #expect(second.id == first.id && second.sequence > first.sequence)
        // Each message in between brings the same scope, so it has the same id.
        _ = try await house.authority.extend(
            live.session, by: .seconds(3600), shortens: true, by: ada)
        #expect(try await told(live).id == first.id)
        try await confirm(first.id, live)
        _ = try await live.authenticate()
        #expect(try await house.settle(live.board).isEmpty)
    }

    @Test("is replaced by a second one, whose confirmation alone counts")
    func replaced() async throws {
        let house = try await House()
        let ada = try await house.login()
        let live = try await house.provisioned(BoardDouble(), by: ada)
        _ = try await house.settle(live.board)
        _ = try await house.authority.setScope(try scope(Self.readings), of: live.session, by: ada)
        let first = try await retained(live)
        let open = try scope("{}")
        _ = try await house.authority.setScope(open, of: live.session, by: ada)
        let second = try await retained(live)
        #expect(second.id != first.id && second.scope == open)
        try await confirm(first.id, live)
        #expect(try await house.authority.session(live.session, by: ada).isScopePending)
        try await confirm(second.id, live)
        #expect(try await !house.authority.session(live.session, by: ada).isScopePending)
    }

    @Test("is said at once where the inbox retains a provisioning, and retained after it")
    func claimed() async throws {
        let house = try await House()
        let ada = try await house.login()
        let live = try await house.provisioned(BoardDouble(), by: ada)
        _ = try await house.settle(live.board)
        let claim = try await house.claim(live.board.pairedAnew(), by: ada)
        _ = try await house.settle(live.board)
        _ = try await house.authority.setScope(try scope(Self.readings), of: live.session, by: ada)
        let said = try await told(live)
        try await house.authority.endClaim(claim.id, by: ada)
        #expect(try await retained(live).id == said.id)
    }

    @Test("is in the next access token")
    func token() async throws {
        let house = try await House()
        let ada = try await house.login()
        let live = try await house.provisioned(BoardDouble(), by: ada)
        let new = try scope(Self.readings)
        _ = try await house.authority.setScope(new, of: live.session, by: ada)
        let reply = try await live.ask(.refresh(live.provision.tokens.refresh))
        let access = try #require(reply.result?.accessToken)
        #expect(try await house.claims(of: access).scope == new)
    }

    @Test("changes the topics of the broker's role: before the board hears, where it grows")
    func topics() async throws {
        let house = try await House()
        let ada = try await house.login()
        let live = try await house.provisioned(BoardDouble(), by: ada)
        let board = live.board.installation
        _ = try await house.settle(live.board)
        func kinds(_ text: String) async throws -> [String] {
            _ = try await house.authority.setScope(try scope(text), of: live.session, by: ada)
            let jobs = try await house.authority.jobs(in: board.description)
            _ = try await house.settle(live.board)
            return jobs.map { if case .inbox = $0.job { "inbox" } else { "login" } }
        }
        #expect(try await kinds(##"{"topics":["home/+/state"]}"##) == ["login", "inbox"])
        let desired = try await house.authority.desiredState(for: board)
        #expect(desired.login?.extraTopics == ["home/+/state"])
        #expect(try await kinds(##"{"topics":["home/+/state"],"default":"deny"}"##) == ["inbox"])
        #expect(try await kinds("{}") == ["inbox", "login"])
        let after = try await house.authority.desiredState(for: board)
        #expect(after.login?.extraTopics == [])
    }

    @Test("is for its owner and administrators, and topics for administrators alone")
    func rights() async throws {
        let house = try await House()
        let ada = try await house.login()
        let (bob, eve) = (try await house.addUser("bob"), try await house.addUser("eve"))
        let live = try await house.provisioned(BoardDouble(), by: bob)
        let new = try scope(Self.readings)
        await expectRefusal(.notFound) {
            _ = try await house.authority.setScope(new, of: live.session, by: eve)
        }
        let topics = try scope(##"{"topics":["home/state"]}"##)
        await expectRefusal(.forbidden) {
            _ = try await house.authority.setScope(topics, of: live.session, by: bob)
        }
        let wrong = try scope(#"{"defalt":"deny"}"#)
        await expectRefusal(.validation) {
            _ = try await house.authority.setScope(wrong, of: live.session, by: bob)
        }
        _ = try await house.authority.setScope(new, of: live.session, by: bob)
        _ = try await house.authority.setScope(topics, of: live.session, by: ada)
        // A login, and a device's session that lives on no board.
        await expectRefusal(.forbidden) {
            _ = try await house.authority.setScope(new, of: bob.session.objectID, by: bob)
        }
        let device = try await house.device(by: bob)
        await expectRefusal(.forbidden) {
            _ = try await house.authority.setScope(
                new, of: device.opened.session.objectID, by: bob)
        }
        // A board that has not accepted its session, and one whose session is over.
        let pending = try await house.claim(BoardDouble(), by: bob)
        await expectRefusal(.forbidden) {
            _ = try await house.authority.setScope(new, of: pending.session, by: bob)
        }
        try await house.authority.revoke(live.session, by: bob)
        await expectRefusal(.notFound) {
            _ = try await house.authority.setScope(new, of: live.session, by: bob)
        }
    }
}
