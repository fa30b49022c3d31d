import AuthorityCore
import AuthorityStore
import Cryptography
import Sessions
import Synchronization
import Wire

@testable import AuthorityService

/// An authority on a real store, with a clock of the test's and a broker that is only noted.
final class House: Sendable {
    let folder: TemporaryFolder
    let clock = TestClock()
    let store: SQLiteAuthorityStore
    let courier = NotingCourier()
    let authority: Authority
    let password = SecretBytes("correct horse battery")

    init(lifetimes: LifetimePolicy = .consumer, managesBrokerAccess: Bool = true) async throws {
        folder = try TemporaryFolder()
        try MasterKey.make(at: "\(folder.path)/authority.key")
        store = try SQLiteAuthorityStore(
            path: "\(folder.path)/authority.db",
            wrapping: MasterKey(at: "\(folder.path)/authority.key"))
        let records = try KeyRing.make(at: clock.now)
        try await store.transact { transaction throws(AuthorityError) in
            for record in records { try transaction.insert(record) }
        }
        let clock = clock
        authority = Authority(
            store: store, cryptography: SystemCryptography(), courier: courier,
            keys: try KeyRing.read(try await StateFolder(path: "").records(of: store)),
            rules: AuthorityRules(
                info: AuthorityInfo(
                    name: "Home", applicationID: "postern",
                    publicURL: "https://authority.example", topicRoot: .standard, version: "t"),
                lifetimes: lifetimes, managesBrokerAccess: managesBrokerAccess),
            clock: { clock.now })
        _ = try await authority.addUser(
            NewUser(
                username: "ada", password: password, isAdministrator: true, mayClaim: true),
            actor: "test")
    }

    func login(_ name: String = "ada") async throws -> Caller {
        let opened = try await authority.login(
            LoginAttempt(username: name, password: password, origin: "test"))
        return try await authority.caller(opened.token)
    }

    func addUser(_ name: String, mayClaim: Bool = true) async throws -> Caller {
        _ = try await authority.addUser(
            NewUser(
                username: name, password: password, isAdministrator: false, mayClaim: mayClaim),
            actor: "test")
        return try await login(name)
    }

    func claim(
        _ board: BoardDouble, by caller: Caller, duration: Duration? = nil,
        scope: ScopeDocument? = nil, base: String = ClaimURL.defaultBase
    ) async throws -> Claim {
        try await authority.claim(
            ClaimOrder(url: board.url(base: base), duration: duration, scope: scope), by: caller)
    }

    /// What is retained for a board, as its chores would publish it.
    func retained(_ board: BoardDouble) async throws -> [UInt8]? {
        try await authority.wish(for: board.installation).retained?.payload
    }

    /// A board claimed by `caller`, its provisioning accepted.
    func provisioned(
        _ board: BoardDouble, by caller: Caller, duration: Duration? = nil,
        scope: ScopeDocument? = nil
    ) async throws -> LiveBoard {
        _ = try await claim(board, by: caller, duration: duration, scope: scope)
        guard let payload = try await retained(board) else { throw NotThat() }
        let (id, provision) = try board.openProvision(payload)
        let live = LiveBoard(board: board, house: self, id: id, provision: provision)
        guard try await live.say(.provisionAccepted(re: id, session: live.session)) == .silent
        else { throw NotThat() }
        return live
    }

    func audit(_ event: String) async throws -> [AuditEntry] {
        try await store.read { transaction throws(AuthorityError) in
            try transaction.entries(AuditQuery(limit: 1000, board: nil))
        }.filter { $0.event == event }
    }
}

/// A board with its provisioning, talking to its authority.
struct LiveBoard {
    let board: BoardDouble
    let house: House
    let id: MessageID
    let provision: Provision

    var session: ObjectID { provision.session.objectID }
    var sealKey: [UInt8] { provision.authority.sealKey }

    func payload(
        _ body: BoardMessage.Body, id: MessageID? = nil, at time: Timestamp? = nil,
        clockUnset: Bool = false
    ) throws -> [UInt8] {
        let message = BoardMessage(
            id: try id ?? .fresh(), issuedAt: time ?? house.clock.now, clockUnset: clockUnset,
            body: body)
        return try board.seal(message.plaintext, to: sealKey)
    }

    func say(_ body: BoardMessage.Body, id: MessageID? = nil) async throws -> BoardAnswer {
        try await house.authority.handle(
            try payload(body, id: id), from: board.installation)
    }

    /// The reply to a request; throws unless there is one.
    func ask(
        _ body: BoardMessage.Body, id: MessageID? = nil, at time: Timestamp? = nil,
        clockUnset: Bool = false
    ) async throws -> Reply {
        let sealed = try payload(body, id: id, at: time, clockUnset: clockUnset)
        return try reply(in: await house.authority.handle(sealed, from: board.installation))
    }

    func reply(in answer: BoardAnswer) throws -> Reply {
        guard case .reply(let payload) = answer,
            case .reply(let reply) = try board.open(payload, from: sealKey).body
        else { throw NotThat() }
        return reply
    }

    func authenticate() async throws -> Reply {
        try await ask(.authenticate(provision.tokens.session, durationMinutes: nil))
    }
}

extension Reply {
    var result: Result? { if case .result(let result) = outcome { result } else { nil } }
    var errorCode: Int? { if case .error(let refusal) = outcome { refusal.code } else { nil } }
}

/// Notes what it is asked to settle; its broker is always there, unless told otherwise.
final class NotingCourier: Courier {
    let consumerAccess: ConsumerAccess? = ConsumerAccess(uri: "mqtt://127.0.0.1:1", ca: nil)
    private let down = Mutex(false)

    func fail(_ fails: Bool) { down.withLock { $0 = fails } }

    func settle(_ line: String) async throws(AuthorityError) {
        if down.withLock({ $0 }) { throw .failed(layer: "MQTT", text: "down") }
    }

    func nudge(_ line: String) {}
}
