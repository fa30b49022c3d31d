@testable import AdminCommands
import Cryptography
import MQTT
import Sessions
import Testing
import Wire

/// An authority that says what a test tells it to, and the board that hears it.
private struct Pair {
    var board: FleetBoard
    var tally = FleetTally()
    var plan: FleetPlan
    var now = Duration.seconds(1000)
    /// What other requests than those that a test is about were answered.
    private var answers: [MessageID: [UInt8]] = [:]
    private let key: X25519PrivateKey
    private let peer: HPKE.Correspondence
    let session: Session

    static let epoch = Timestamp(milliseconds: 1_800_000_000_000)

    /// A board that holds its session, and whose load has begun.
    init(_ faults: FaultPlan = .none, thief: Bool = false) throws {
        plan = FleetPlan(
            boards: 1, connections: 1, root: .standard, uri: try BrokerURI("mqtt://127.0.0.1"),
            tls: TLSOptions(), wall: { Self.epoch })
        (plan.heartbeat, plan.refresh, plan.faults) = (.seconds(60), .seconds(60), faults)
        board = try FleetBoard(under: .standard, seed: 1)
        key = try X25519PrivateKey()
        let claim = try ClaimURL(board.base.claimURL)
        peer = try HPKE.Correspondence(
            own: key, peer: X25519PublicKey(rawRepresentation: claim.deviceKey))
        let user = try #require(UserID("aaaaaaaaaa"))
        session = Session(
            objectID: try #require(ObjectID("bbbbbbbbbb")), user: user, restricted: true,
            createdWith: CreatedWith(action: "create", authProvider: "masterkey"),
            installationID: claim.installation, createdAt: Self.epoch, expiresAt: nil)
        let provision = Provision(
            sequence: 1, expiresAt: Self.epoch + .seconds(60),
            authority: PinnedAuthority(
                name: "test", sealKey: key.publicKey.rawRepresentation,
                signKeys: [
                    SigningKey(
                        kid: key.publicKey.keyID, key: Array(repeating: 1, count: 32)),
                ]),
            session: session, user: UserProfile(objectID: user, username: "ada"),
            tokens: SessionTokens(
                session: try #require(SessionToken("r:s")), access: try #require(AccessToken("a")),
                refresh: try #require(RefreshToken("rt:0"))),
            scope: nil, heartbeat: .seconds(180), offline: .seconds(180), broker: nil)
        _ = try board.base.begin(provision, SimulatedBoard.newID(), wall: Self.epoch)
        board.phase = .alive
        board.reached(plan, at: moment, &tally)
        if thief { board.thief = FleetThief(strikeAt: .zero) }
        board.begin(plan, at: moment)
    }

    var moment: FleetBoard.Moment {
        FleetBoard.Moment(now: now, wall: Self.epoch + (now - .seconds(1000)))
    }

    /// What the board says when so many seconds have gone by.
    mutating func wake(after seconds: Int) throws -> [BoardMessage] {
        now += .seconds(seconds)
        try board.wake(plan, at: moment, &tally)
        return try said()
    }

    private mutating func said() throws -> [BoardMessage] {
        defer { board.outgoing.removeAll() }
        return try board.outgoing.map { payload in
            let envelope = try SealedEnvelope(parsing: payload)
            return try BoardMessage(parsing: try peer.open(
                HPKE.Sealed(enc: envelope.enc, ct: envelope.ct), info: SealedEnvelope.info,
                aad: Array(board.base.outbox.utf8)))
        }
    }

    func sealed(_ body: AuthorityMessage.Body) throws -> [UInt8] {
        let message = AuthorityMessage(
            id: try SimulatedBoard.newID(), issuedAt: moment.wall, body: body)
        let sealed = try peer.seal(
            message.plaintext, info: SealedEnvelope.info, aad: Array(board.base.inbox.utf8))
        return SealedEnvelope(
            mode: .auth, to: key.publicKey.keyID, enc: sealed.enc, ct: sealed.ct).payload
    }

    func answer(_ request: BoardMessage, token: String? = nil) throws -> [UInt8] {
        var result = Reply.Result()
        result.session = session
        result.user = UserProfile(objectID: session.user, username: "ada")
        result.refreshToken = token.flatMap { RefreshToken($0) }
        result.accessToken = token.flatMap { _ in AccessToken("a") }
        return try sealed(.reply(Reply(re: request.id, now: moment.wall, outcome: .result(result))))
    }

    func refusal(
        _ request: BoardMessage, _ code: ErrorCode, retryAfter: Duration? = nil
    ) throws -> [UInt8] {
        var refusal = Refusal(code, "no")
        refusal.retryAfter = retryAfter
        return try sealed(.reply(Reply(
            re: request.id, now: moment.wall, outcome: .error(refusal))))
    }

    mutating func hear(_ payload: [UInt8]) throws -> [BoardMessage] {
        try board.take(payload, plan, at: moment, &tally)
        return try said()
    }

    /// The board's next request of a kind; other requests are answered meanwhile, but for one.
    mutating func request(
        _ kind: BoardMessage.Kind, leaving left: MessageID? = nil
    ) throws -> BoardMessage {
        for _ in 0..<400 {
            for message in try wake(after: 1) {
                if message.body.kind == kind { return message }
                guard message.id != left else { continue }
                let isRefresh = message.body.kind == .refresh
                let token = isRefresh ? "rt:x\(now.components.seconds)" : nil
                let reply = try answers[message.id] ?? answer(message, token: token)
                answers[message.id] = reply
                _ = try hear(reply)
            }
        }
        throw SimulationFault.silence
    }
}

@Suite("A simulated board")
struct FleetBoardTests {
    @Test("repeats a request under its id, ever more slowly, until it is answered")
    func repeats() throws {
        var pair = try Pair()
        let first = try pair.request(.refresh)
        #expect(try pair.wake(after: 9).allSatisfy { $0.id != first.id })
        var waits: [Int] = []
        var passed = 9
        while waits.count < 3, passed < 400 {
            passed += 1
            if try pair.wake(after: 1).contains(where: { $0.id == first.id }) {
                waits.append(passed)
                passed = 0
            }
        }
        #expect(waits[0] == 10 && (10...20).contains(waits[1]) && (20...40).contains(waits[2]))
        _ = try pair.hear(pair.answer(first, token: "rt:1"))
        #expect(pair.tally.refreshes.answered == 1 && pair.tally.refreshes.repeated == 3)
    }

    @Test("wants the same answer again where it did not see the first")
    func lostReply() throws {
        var pair = try Pair(try #require(FaultPlan(argument: "lost-replies=100%")))
        let asked = try pair.request(.refresh)
        let reply = try pair.answer(asked, token: "rt:1")
        // A heartbeat may have come before.
        var expected = pair.tally.lostReplies
        expected.injected += 1
        _ = try pair.hear(reply)
        #expect(pair.tally.lostReplies == expected)
        #expect(pair.tally.refreshes.answered == 0)
        expected.right += 1
        _ = try pair.hear(reply)
        #expect(pair.tally.lostReplies == expected)
        #expect(pair.tally.violations.count == 0 && pair.tally.refreshes.answered == 1)
    }

    @Test("finds another answer to the same request")
    func otherReply() throws {
        var pair = try Pair(try #require(FaultPlan(argument: "lost-replies=100%")))
        let asked = try pair.request(.refresh)
        _ = try pair.hear(pair.answer(asked, token: "rt:1"))
        _ = try pair.hear(pair.answer(asked, token: "rt:1"))
        #expect(pair.tally.lostReplies.wrong == 1 && pair.tally.violations.count == 1)
    }

    @Test("finds another answer to a replay, unless there was no time to look", arguments: [
        (ErrorCode.rateLimit, 0), (.notFound, 1),
    ])
    func replayed(code: ErrorCode, wrong: Int) throws {
        var pair = try Pair(try #require(FaultPlan(argument: "replays=100%")))
        let asked = try pair.request(.authenticate)
        _ = try pair.hear(pair.answer(asked))
        var sent: [BoardMessage] = []
        for _ in 0..<4 where sent.isEmpty {
            sent = try pair.wake(after: 1).filter { $0.id == asked.id }
        }
        #expect(sent.count == 1 && pair.tally.replays.injected == 1)
        _ = try pair.hear(pair.refusal(asked, code))
        #expect(pair.tally.replays.wrong == wrong && pair.tally.violations.count == wrong)
        #expect(pair.board.replay == nil)
    }

    @Test("sets a clock that is off by what it is told, and asks anew")
    func clock() throws {
        var pair = try Pair()
        (pair.board.clockOffset, pair.board.isClockWrong) = (.seconds(-7200), true)
        let asked = try pair.request(.authenticate)
        #expect(asked.issuedAt < pair.moment.wall - .seconds(7000))
        let again = try #require(try pair.hear(pair.refusal(asked, .validation)).first)
        #expect(again.id != asked.id && again.issuedAt.seconds == pair.moment.wall.seconds)
        _ = try pair.hear(pair.answer(again))
        #expect(pair.tally.clocks.right == 1 && pair.tally.violations.count == 0)
    }

    @Test("keeps a refresh's id where the authority has no time", arguments: [
        ErrorCode.rateLimit, .notFound, .quota,
    ])
    func overloaded(code: ErrorCode) throws {
        var pair = try Pair()
        let asked = try pair.request(.refresh)
        _ = try pair.hear(pair.refusal(asked, code))
        #expect(pair.board.phase == .alive && pair.board.refresh?.id == asked.id)
        #expect(pair.tally.refreshes.overloaded == (code == .rateLimit ? 1 : 0))
        #expect(try pair.request(.refresh).id == asked.id)
        #expect(pair.tally.errors.count == 1 && pair.tally.violations.count == 0)
    }

    @Test("asks again after the time that an overloaded authority names and a draw, not before",
          arguments: [
            (90, nil, 90...181), (nil, nil, 30...61), (5, nil, 5...36), (90, 7, 7...38),
        ] as [(Int?, Int?, ClosedRange<Int>)])
    func putOff(told: Int?, most: Int?, waits: ClosedRange<Int>) throws {
        var pair = try Pair()
        pair.plan.putOff = most.map { .seconds($0) }
        let asked = try pair.request(.refresh)
        pair.board.heartbeat = nil
        #expect(!pair.board.isSettled)
        _ = try pair.hear(pair.refusal(
            asked, .rateLimit, retryAfter: told.map { .seconds($0) }))
        #expect(pair.board.isSettled && pair.board.isPutOff)
        pair.board.cutOff()
        pair.board.reached(pair.plan, at: pair.moment, &pair.tally)
        var passed = 0
        var isAsked = false
        while !isAsked, passed < 400 {
            passed += 1
            isAsked = try pair.wake(after: 1).contains { $0.id == asked.id }
        }
        #expect(waits.contains(passed) && pair.board.refresh?.isPutOff == false)
        #expect(pair.tally.refreshes.overloaded == 1 && pair.tally.violations.count == 0)
    }

    @Test("answers the revocation that its thief's request brings, and counts it as found")
    func theft() throws {
        var pair = try Pair(thief: true)
        _ = try pair.hear(pair.answer(try pair.request(.refresh), token: "rt:1"))
        let theft = try pair.request(.refresh)
        #expect(pair.tally.thefts.injected == 1)
        if case .refresh(let token) = theft.body { #expect(token.reveal() == "rt:0") }
        let ended = try pair.hear(pair.sealed(
            .revoked(sequence: 5, session: pair.session.objectID, reason: "reuse")))
        _ = try pair.hear(pair.refusal(theft, .invalidSession))
        #expect(ended.map(\.body.kind) == [.sessionEnded])
        #expect(pair.tally.thefts.right == 1 && pair.tally.thievesTold == 1)
        #expect(pair.board.phase == .over && pair.tally.violations.count == 0)
    }

    @Test("finds a thief who gets new tokens")
    func robbed() throws {
        var pair = try Pair(thief: true)
        _ = try pair.hear(pair.answer(try pair.request(.refresh), token: "rt:1"))
        _ = try pair.hear(pair.answer(try pair.request(.refresh), token: "rt:2"))
        #expect(pair.tally.thefts.wrong == 1 && pair.tally.violations.count == 1)
    }

    @Test("without a thief finds a revocation for reuse wrong, and any other not", arguments: [
        ("reuse", 1), ("admin", 0),
    ])
    func falseTheft(reason: String, violations: Int) throws {
        var pair = try Pair()
        _ = try pair.hear(pair.sealed(
            .revoked(sequence: 5, session: pair.session.objectID, reason: reason)))
        #expect(pair.board.phase == .over)
        #expect(pair.tally.violations.count == violations)
        #expect(pair.tally.endedByOthers == 1 - violations)
    }

    @Test("wants the same reply for an eavesdropper's copy", arguments: [true, false])
    func replay(isSame: Bool) throws {
        var pair = try Pair(try #require(FaultPlan(argument: "replays=100%")))
        let asked = try pair.request(.authenticate)
        let reply = try pair.answer(asked)
        _ = try pair.hear(reply)
        let copies = try (0..<4).flatMap { _ in try pair.wake(after: 1) }
        #expect(copies.count { $0.id == asked.id } == 1)
        _ = try pair.hear(isSame ? reply : pair.answer(asked))
        #expect(pair.tally.replays.right == (isSame ? 1 : 0))
        #expect(pair.tally.violations.count == (isSame ? 0 : 1))
    }

    @Test("asks a refresh again under its id after a reconnect, and a heartbeat anew")
    func reconnect() throws {
        var pair = try Pair()
        let refresh = try pair.request(.refresh)
        let heartbeat = try pair.request(.authenticate, leaving: refresh.id)
        pair.board.cutOff()
        #expect(try pair.wake(after: 60).isEmpty)
        pair.board.reached(pair.plan, at: pair.moment, &pair.tally)
        let said = try (0..<60).flatMap { _ in try pair.wake(after: 1) }
        #expect(said.contains { $0.id == refresh.id })
        #expect(!said.contains { $0.id == heartbeat.id })
        #expect(said.contains { $0.body.kind == .authenticate })
        #expect(pair.tally.heartbeats.cut == 1)
    }
}
