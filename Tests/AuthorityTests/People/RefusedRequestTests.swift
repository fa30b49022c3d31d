import AuthorityCore
import Logging
import Sessions
import Synchronization
import Testing
import Wire

@testable import AuthorityService

@Suite("Refused requests", .everyStore)
struct BoardRefusalTests {
    private func heard(
        _ text: String, _ live: LiveBoard
    ) async throws -> HeardRequest {
        let plaintext = text.replacing("ID", with: "\(try MessageID.fresh())")
            .replacing("NOW", with: "\(live.house.clock.now.seconds)")
        return try await live.house.authority.hear(
            try live.board.seal(Array(plaintext.utf8), to: live.sealKey),
            from: live.board.installation)
    }

    @Test("of boards have a reason", arguments: [
        (#""type":"nothing.known""#, RefusalReason.forbidden),
        (#""type":"user.get","sessionToken":"x""#, .malformedToken),
        (#""type":"session.refresh","refreshToken":"rt:x""#, .malformedToken),
        (#""type":"user.get","sessionToken":"r:DDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDA""#,
            .unknownToken),
    ])
    func reasons(members: String, reason: RefusalReason) async throws {
        let house = try await House()
        let live = try await house.provisioned(BoardDouble(), by: house.login())
        let heard = try await heard(#"{"id":"ID","iat":NOW,\#(members)}"#, live)
        #expect(heard.refused == reason)
        let good = try await house.authority.hear(
            try live.payload(.user(live.provision.tokens.session)),
            from: live.board.installation)
        #expect(good.refused == nil)
    }

    @Test("for a token of another board are an alarm, once an hour, and end nothing")
    func foreign() async throws {
        let house = try await House()
        let ada = try await house.login()
        let victim = try await house.provisioned(BoardDouble(), by: ada)
        let thief = try await house.provisioned(BoardDouble(), by: house.addUser("eve"))
        let stolen = victim.provision.tokens
        for body in [
            BoardMessage.Body.authenticate(stolen.session, durationMinutes: nil),
            .refresh(stolen.refresh), .revoke(stolen.session),
        ] {
            let heard = try await house.authority.hear(
                try thief.payload(body), from: thief.board.installation)
            #expect(heard.refused == .foreignToken)
        }
        let alarms = try await house.audit("token.foreign")
        #expect(alarms.map(\.board) == [victim.board.installation])
        #expect(alarms.map(\.session) == [victim.session])
        #expect(alarms.first?.detail.contains("\(thief.board.installation)") == true)
        house.clock.advance(.seconds(3601))
        #expect(try await thief.ask(.user(stolen.session)).errorCode == 209)
        #expect(try await house.audit("token.foreign").count == 2)
        #expect(try await victim.authenticate().result != nil)
    }

    @Test("over HTTP say whether nobody here had the token, or a board has it")
    func holders() async throws {
        let house = try await House()
        let ada = try await house.login()
        let live = try await house.provisioned(BoardDouble(), by: ada)
        func reason(_ token: SessionToken) async throws -> RefusalReason? {
            guard case .nobody(let reason) = try await house.authority.holder(of: token) else {
                throw NotThat()
            }
            return reason
        }
        let strange = try #require(
            SessionToken("r:DDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDDA"))
        #expect(try await reason(strange) == .unknownToken)
        #expect(try await reason(live.provision.tokens.session) == .boardToken)
        let device = try await house.device(by: ada)
        try await house.authority.logout(device.caller)
        #expect(try await reason(device.opened.token) == nil)
    }
}

@Suite("The book of refusals")
struct RefusalBookTests {
    private final class Kept: LogHandler {
        private let kept = Mutex<[(Logger.Level, Logger.Metadata)]>([])
        var lines: [(Logger.Level, Logger.Metadata)] { kept.withLock { $0 } }
        var logLevel: Logger.Level { get { .trace } set {} }
        var metadata: Logger.Metadata { get { [:] } set {} }
        subscript(metadataKey _: String) -> Logger.Metadata.Value? { get { nil } set {} }
        func log(event: LogEvent) {
            kept.withLock { $0.append((event.level, event.metadata ?? [:])) }
        }
    }

    private final class Moment: Sendable {
        private let time = Mutex(Duration.zero)
        var now: Duration { time.withLock { $0 } }
        func pass(_ span: Duration) { time.withLock { $0 += span } }
    }

    @Test("counts each reason, and writes ten lines a minute of each, however many come")
    func bounded() {
        let log = Kept()
        let time = Moment()
        let book = RefusalLog(
            logger: Logger(label: "test", factory: { _ in log }), clock: { time.now })
        let flood = RefusedRequest(
            .masterKey, subject: "nobody", className: "_Session",
            operation: "GET /parse/sessions", origin: "192.0.2.1")
        for _ in 0..<1000 { book.note(flood) }
        #expect(log.lines.count == RefusalLog.lines)
        book.note(RefusedRequest(
            .foreignToken, subject: "board x", className: "_Session",
            operation: "session.refresh"))
        #expect(log.lines.last?.0 == .error)
        time.pass(RefusalLog.window)
        book.note(flood)
        #expect(log.lines.last?.1 == [
            "reason": "master-key", "subject": "nobody", "class": "_Session",
            "operation": "GET /parse/sessions", "from": "192.0.2.1", "left-out": "990",
        ])
        #expect(book.tally[.masterKey] == 1001 && book.tally[.foreignToken] == 1)
        #expect(book.tally.count == RefusalReason.allCases.count)
        #expect(book.tally[.clientKey] == 0)
    }
}
