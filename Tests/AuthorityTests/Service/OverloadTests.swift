import AuthorityCore
import AuthorityStore
import Sessions
import Testing
import Wire

@Suite("An overload")
struct OverloadTests {
    private func fixture() async throws -> (house: House, live: LiveBoard) {
        let house = try await House()
        let live = try await house.provisioned(try BoardDouble(), by: try await house.login())
        return (house, live)
    }

    private func triage(
        _ live: LiveBoard, _ payload: [UInt8], at level: LoadLevel, wasRefused: Bool = false
    ) async throws -> TriagedRequest {
        try await live.house.authority.triage(
            payload, from: live.board.installation, at: level) { _ in wasRefused }
    }

    private func isRefused(_ request: TriagedRequest) -> Bool {
        if case .refused = request { true } else { false }
    }

    @Test("puts off heartbeats first, refreshes later, and what ends a session never", arguments: [
        ("authenticate", .heavy), ("list", .heavy), ("user", .heavy), ("refresh", .severe),
        ("revoke", nil), ("ended", nil), ("accepted", nil), ("rejected", nil),
    ] as [(String, LoadLevel?)])
    func order(type: String, from first: LoadLevel?) async throws {
        let (_, live) = try await fixture()
        let tokens = live.provision.tokens
        let body: BoardMessage.Body = switch type {
        case "authenticate": .authenticate(tokens.session, durationMinutes: nil)
        case "list": .list(tokens.session)
        case "user": .user(tokens.session)
        case "refresh": .refresh(tokens.refresh)
        case "revoke": .revoke(tokens.session)
        case "ended": .sessionEnded(re: live.id, session: live.session)
        case "accepted": .provisionAccepted(re: live.id, session: live.session)
        default: .provisionRejected(re: live.id, error: Refusal(.validation, "no"))
        }
        for level in [LoadLevel.heavy, .severe, .drowning] {
            let outcome = try await triage(live, try live.payload(body), at: level)
            #expect(isRefused(outcome) == (first.map { level >= $0 } ?? false))
            #expect(isRefused(outcome) || outcome == .take)
        }
    }

    @Test("is told as 155 with a time to ask again, and nothing is written", arguments: [
        (LoadLevel.heavy, 30), (.severe, 60), (.drowning, 120),
    ] as [(LoadLevel, Int64)])
    func told(level: LoadLevel, seconds: Int64) async throws {
        let (house, live) = try await fixture()
        let id = try MessageID.fresh()
        let before = try await house.record(live.session)
        house.clock.advance(.seconds(60))
        let payload = try live.payload(
            .authenticate(live.provision.tokens.session, durationMinutes: nil), id: id)
        guard case .refused(id, let answer) = try await triage(live, payload, at: level),
            case .error(let refusal) = try live.reply(in: .reply(answer)).outcome
        else { throw NotThat() }
        #expect(refusal.is(.rateLimit) && refusal.text == "overloaded; ask again later")
        #expect(refusal.retryAfter == .seconds(seconds))
        let kept = try await house.store.read { transaction throws(AuthorityError) in
            try transaction.reply(to: id, of: live.board.installation)
        }
        #expect(kept == nil)
        #expect(try await house.record(live.session)?.lastSeen == before?.lastSeen)
    }

    @Test("that put a refresh off has it rotate once when it comes again")
    func refresh() async throws {
        let (house, live) = try await fixture()
        let id = try MessageID.fresh()
        let token = live.provision.tokens.refresh
        for _ in 0..<3 {
            let payload = try live.payload(.refresh(token), id: id)
            #expect(isRefused(try await triage(live, payload, at: .severe)))
        }
        let first = try await live.ask(.refresh(token), id: id)
        let successor = try #require(first.result?.refreshToken)
        // Asked again while there is too much to do: put off, and still the same answer later.
        let payload = try live.payload(.refresh(token), id: id)
        #expect(isRefused(try await triage(live, payload, at: .severe)))
        let second = try await live.ask(.refresh(token), id: id)
        #expect(second.result?.refreshToken?.matches(successor) == true)
        #expect(try await house.record(live.session)?.state == .active)
        #expect(try await house.audit("session.reuse").isEmpty)
    }

    @Test("puts nobody off twice, unless nothing helps")
    func twice() async throws {
        let (_, live) = try await fixture()
        let payload = try live.payload(
            .authenticate(live.provision.tokens.session, durationMinutes: nil))
        #expect(try await triage(live, payload, at: .severe, wasRefused: true) == .take)
        #expect(isRefused(
            try await triage(live, payload, at: .drowning, wasRefused: true)))
    }

    @Test("puts off what cannot be read as it does a heartbeat")
    func unreadable() async throws {
        let (_, live) = try await fixture()
        let id = try MessageID.fresh()
        let sealed = try live.board.seal(Array("{\"id\":\"\(id)\"}".utf8), to: live.sealKey)
        #expect(isRefused(try await triage(live, sealed, at: .heavy)))
        #expect(try await triage(live, sealed, at: .heavy, wasRefused: true) == .take)
        let nameless = try live.board.seal(Array("[]".utf8), to: live.sealKey)
        #expect(try await triage(live, nameless, at: .heavy) == .dropped(.unreadable))
    }

    @Test("answers nobody who cannot seal as the board")
    func forged() async throws {
        let (house, live) = try await fixture()
        let thief = try BoardDouble(installation: live.board.installation)
        let message = BoardMessage(
            id: try .fresh(), issuedAt: house.clock.now, clockUnset: false,
            body: .authenticate(live.provision.tokens.session, durationMinutes: nil))
        let forged = try thief.seal(message.plaintext, to: live.sealKey)
        #expect(try await triage(live, forged, at: .heavy) == .dropped(.unopened))
        let stranger = try BoardDouble()
        let answer = try await house.authority.triage(
            try stranger.seal(message.plaintext, to: live.sealKey),
            from: stranger.installation, at: .heavy) { _ in false }
        #expect(answer == .dropped(.unknownBoard))
    }
}
