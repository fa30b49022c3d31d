import AuthorityCore
import Cryptography
import Sessions
import Testing
import Wire

@Suite("Board's request", .everyStore)
struct RequestTests {
    @Test("is answered with the very same bytes when it comes again")
    func redelivery() async throws {
        let (house, live) = try await fixture()
        let payload = try live.payload(
            .authenticate(live.provision.tokens.session, durationMinutes: 60))
        let first = try await house.authority.handle(payload, from: live.board.installation)
        house.clock.advance(.seconds(599))
        let second = try await house.authority.handle(payload, from: live.board.installation)
        #expect(first == second)
        #expect(try live.reply(in: first).result?.session != nil)
    }

    @Test("never extends by a heartbeat, and by minutes within the limits", arguments: [
        (nil, nil), (5, 300), (60, 3600), (4, 142), (0, 142), (-1, 142), (525_601, 142),
        (Int64.max, 142), (30 * 1440 + 1, 142),
    ] as [(Int64?, Int64?)])
    func extending(minutes: Int64?, outcome: Int64?) async throws {
        let (house, live) = try await fixture()
        let before = live.provision.session.expiresAt
        let reply = try await live.ask(
            .authenticate(live.provision.tokens.session, durationMinutes: minutes))
        switch outcome {
        case nil: #expect(reply.result?.session?.expiresAt == before)
        case 142: #expect(reply.errorCode == 142)
        case let seconds:
            let end = house.clock.now + .seconds(seconds ?? 0)
            #expect(reply.result?.session?.expiresAt?.seconds == end.seconds)
        }
    }

    @Test("with a clock that is off is told the time, and no token of it is looked at",
          arguments: [(301, false), (-301, false), (0, true), (-1_800_000_000, false)])
    func clock(skew: Int, unset: Bool) async throws {
        let (house, live) = try await fixture()
        for token in [live.provision.tokens.session, try #require(SessionToken("r:nonsense"))] {
            let reply = try await live.ask(
                .authenticate(token, durationMinutes: nil),
                at: house.clock.now + .seconds(skew), clockUnset: unset)
            #expect(reply.errorCode == 142 && reply.now.seconds == house.clock.now.seconds)
        }
        let spent = try await live.ask(
            .refresh(live.provision.tokens.refresh), clockUnset: true)
        #expect(spent.errorCode == 142)
        #expect(try await live.ask(.refresh(live.provision.tokens.refresh)).result != nil)
    }

    @Test("with another board's token is 209, and that board's session lives on")
    func ownership() async throws {
        let (house, live) = try await fixture()
        let ada = try await house.login()
        let other = try await house.provisioned(BoardDouble(), by: ada)
        let stolen = live.provision.tokens
        #expect(try await other.ask(.revoke(stolen.session)).errorCode == 209)
        #expect(try await other.ask(.refresh(stolen.refresh)).errorCode == 209)
        #expect(try await live.authenticate().result != nil)
        #expect(try await live.ask(.refresh(stolen.refresh)).result != nil)
        #expect(try await house.audit("session.reuse").isEmpty)
    }

    @Test("that cannot be opened is dropped")
    func dropped() async throws {
        let (house, live) = try await fixture()
        let good = try live.payload(.user(live.provision.tokens.session))
        let stranger = try BoardDouble(installation: live.board.installation)
        let text = BoardMessage(
            id: try .fresh(), issuedAt: house.clock.now, clockUnset: false,
            body: .user(live.provision.tokens.session)
        ).plaintext
        var flipped = try SealedEnvelope(parsing: good)
        flipped = SealedEnvelope(
            mode: .auth, to: flipped.to, enc: flipped.enc,
            ct: flipped.ct.enumerated().map { $0 == 3 ? $1 ^ 1 : $1 })
        let psk = SealedEnvelope(mode: .psk, to: flipped.to, enc: flipped.enc, ct: flipped.ct)
        let bad: [([UInt8], DropReason)] = [
            ([], .notSealed), (Array("{}".utf8), .notSealed), (Array(good.dropLast()), .notSealed),
            (flipped.payload, .unopened), (psk.payload, .notSealed),
            (try stranger.seal(text, to: live.sealKey), .unopened),
            (try live.board.seal(text, to: live.sealKey, topic: live.board.inbox), .unopened),
            (try live.board.seal(text, to: stranger.key.publicKey.rawRepresentation), .notSealed),
            (try live.board.seal(Array("[]".utf8), to: live.sealKey), .unreadable),
            (try live.board.seal(Array("{\"id\":7}".utf8), to: live.sealKey), .unreadable),
        ]
        for (payload, reason) in bad {
            let answer = try await house.authority.handle(
                payload, from: live.board.installation)
            #expect(answer == .dropped(reason))
        }
        let other = try BoardDouble()
        let elsewhere = try await house.authority.handle(good, from: other.installation)
        #expect(elsewhere == .dropped(.unknownBoard))
    }

    @Test("that is malformed is told so by its number", arguments: [
        (#"{"id":"ID","iat":NOW,"type":"session.authenticate"}"#, 142),
        (#"{"id":"ID","iat":NOW,"type":"session.authenticate","sessionToken":7}"#, 111),
        (#"{"id":"ID","iat":NOW,"type":"session.authenticate","sessionToken":"x"}"#, 209),
        (#"{"id":"ID","iat":1,"type":"session.authenticate","sessionToken":"x"}"#, 142),
        (#"{"id":"ID","iat":NOW,"type":"session.refresh","refreshToken":"x"}"#, 209),
        (#"{"id":"ID","iat":NOW,"type":"session.refresh","refreshToken":"rt:x"}"#, 209),
        (#"{"id":"ID","iat":NOW,"type":"nothing.known"}"#, 119),
        (#"{"id":"ID","iat":"now","type":"user.get","sessionToken":"r:x"}"#, 111),
        (#"{"id":"ID","type":"user.get","sessionToken":"r:x"}"#, 142),
        (##"{"id":"ID","iat":NOW,"type":"session.authenticate","sessionToken":"r:x","##
            + ##""durationMinutes":"x"}"##, 111),
        (##"{"id":"ID","iat":NOW,"type":"session.authenticate","sessionToken":"r:x","##
            + ##""durationMinutes":"x","clock":"unset"}"##, 142),
    ])
    func malformed(text: String, code: Int) async throws {
        let (house, live) = try await fixture()
        let plaintext = text.replacing("ID", with: "\(try MessageID.fresh())")
            .replacing("NOW", with: "\(house.clock.now.seconds)")
        let payload = try live.board.seal(Array(plaintext.utf8), to: live.sealKey)
        let answer = try await house.authority.handle(payload, from: live.board.installation)
        #expect(try live.reply(in: answer).errorCode == code)
    }

    @Test("for sessions and user gets the user's restricted ones, and no token")
    func listing() async throws {
        let (house, live) = try await fixture()
        let ada = try await house.login()
        let other = try await house.provisioned(BoardDouble(), by: ada)
        let bob = try await house.addUser("bob")
        _ = try await house.provisioned(BoardDouble(), by: bob)
        let list = try await live.ask(.list(live.provision.tokens.session))
        let ids = Set((list.result?.sessions ?? []).map(\.objectID))
        #expect(ids == [live.session, other.session])
        let user = try await live.ask(.user(live.provision.tokens.session))
        #expect(user.result?.user?.username == "ada")
    }

    /// A board knows its `expiresAt`; what other limit ended its session, it is told.
    @Test("under a session that expired, by any limit, is 209", arguments: [
        (Duration.seconds(5 * 86_400), false), (.seconds(30 * 86_400), true),
    ])
    func limits(after: Duration, inUse: Bool) async throws {
        let (house, live) = try await fixture()
        var left = after
        while inUse, left > .seconds(86_400) {
            house.clock.advance(.seconds(86_400))
            left -= .seconds(86_400)
            #expect(try await live.authenticate().result != nil)
        }
        house.clock.advance(left)
        #expect(try await live.authenticate().errorCode == 209)
        #expect(try await live.ask(.refresh(live.provision.tokens.refresh)).errorCode == 209)
        #expect(try await house.authority.sweep() == false)
        let desired = try await house.authority.desiredState(for: live.board.installation)
        #expect(desired.login?.mayPublishData == false)
        #expect((desired.retained == nil) == inUse)
    }

    private func fixture() async throws -> (House, LiveBoard) {
        let house = try await House()
        let ada = try await house.login()
        return (house, try await house.provisioned(BoardDouble(), by: ada))
    }
}
