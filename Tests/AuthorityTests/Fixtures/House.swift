import AuthorityCore
import AuthorityStore
import Cryptography
import GRDB
import Sessions
import Synchronization
import Wire

@testable import AuthorityService

/// An authority on a real store, with a clock of the test's and a broker that is only noted.
final class House: Sendable {
    let folder: TemporaryFolder
    let clock = TestClock()
    let place: HousePlace
    let store: any ServiceStore
    let worker = NotingWorker()
    let keys: AuthorityKeys
    let authority: Authority
    let password = SecretBytes("correct horse battery")

    init(
        lifetimes: LifetimePolicy = .consumer, managesBrokerAccess: Bool = true,
        letsPeopleSignUp: Bool = false, place: HousePlace? = nil
    ) async throws {
        self.place = if let place { place } else { try await HousePlace(.current) }
        folder = self.place.folder
        store = try await self.place.open()
        let records = try KeyRing.make(at: clock.now)
        try await store.transact { transaction throws(AuthorityError) in
            for record in records { try transaction.insert(record) }
        }
        keys = try KeyRing.read(try await StateFolder(path: "").records(of: store))
        authority = Self.authority(
            store, keys, worker, clock,
            Self.rules(
                lifetimes, managesBrokerAccess: managesBrokerAccess,
                letsPeopleSignUp: letsPeopleSignUp))
        _ = try await authority.addUser(
            NewUser(
                username: "ada", password: password, isAdministrator: true, mayClaim: true),
            actor: "test")
    }

    /// The same authority, configured anew.
    func reconfigured(lifetimes: LifetimePolicy) -> Authority {
        Self.authority(store, keys, worker, clock, Self.rules(lifetimes))
    }

    /// The same authority, which announces sensors.
    func announcing(below prefix: TopicRoot = .homeAssistant) -> Authority {
        var rules = Self.rules(.consumer)
        rules.discovery = prefix
        return Self.authority(store, keys, worker, clock, rules)
    }

    /// The same authority, which believes others about who people are.
    func reconfigured(
        providers: [IdentityProvider], signatures: any IDTokenSignatures,
        codes: any AuthorizationCodes = NoAuthorizationCodes()
    ) -> Authority {
        Self.authority(
            store, keys, worker, clock, Self.rules(.consumer, providers: providers), signatures,
            codes)
    }

    /// The authority of a house on another store of it.
    static func authority(on store: any ServiceStore, _ house: House) -> Authority {
        authority(store, house.keys, house.worker, house.clock, rules(.consumer))
    }

    /// The database as it is now, in a file of its own.
    func copy() throws -> String {
        let path = "\(folder.path)/copy-\(UInt32.random(in: 0 ... .max)).db"
        let queue = try DatabaseQueue(path: "\(folder.path)/authority.db")
        defer { try? queue.close() }
        try queue.vacuum(into: path)
        return path
    }

    private static func authority(
        _ store: any ServiceStore, _ keys: AuthorityKeys, _ worker: NotingWorker,
        _ clock: TestClock, _ rules: AuthorityRules,
        _ signatures: any IDTokenSignatures = NoIDTokens(),
        _ codes: any AuthorizationCodes = NoAuthorizationCodes()
    ) -> Authority {
        Authority(
            store: store, cryptography: QuickPasswords(), worker: worker, keys: keys,
            rules: rules, signatures: signatures, codes: codes, clock: { clock.now })
    }

    private static func rules(
        _ lifetimes: LifetimePolicy, managesBrokerAccess: Bool = true,
        letsPeopleSignUp: Bool = false, providers: [IdentityProvider] = []
    ) -> AuthorityRules {
        AuthorityRules(
            info: AuthorityInfo(
                name: "Home", applicationID: "postern",
                publicURL: "https://authority.example", topicRoot: .standard, version: "t"),
            lifetimes: lifetimes, managesBrokerAccess: managesBrokerAccess,
            letsPeopleSignUp: letsPeopleSignUp, providers: providers)
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

    /// What is retained for a board, as its jobs would publish it.
    func retained(_ board: BoardDouble) async throws -> [UInt8]? {
        try await authority.desiredState(for: board.installation).retained?.payload
    }

    /// A session for a device that lives on no board, as its program calls with it.
    func device(
        by caller: Caller, on installation: InstallationID? = nil,
        custom: [String: JSONValue] = [:]
    ) async throws -> (opened: LoggedIn, caller: Caller) {
        let opened = try await authority.makeSession(
            SessionDraft(installation: installation, custom: custom), by: caller)
        return (opened, try await authority.caller(opened.token))
    }

    /// A board claimed by `caller`, its provisioning accepted.
    func provisioned(
        _ board: BoardDouble, by caller: Caller, duration: Duration? = nil,
        scope: ScopeDocument? = nil
    ) async throws -> LiveBoard {
        try await provisioned(
            board, by: caller,
            order: ClaimOrder(url: board.url(), duration: duration, scope: scope))
    }

    /// The same as somebody ordered it.
    func provisioned(
        _ board: BoardDouble, by caller: Caller, order: ClaimOrder
    ) async throws -> LiveBoard {
        _ = try await authority.claim(order, by: caller)
        guard let payload = try await retained(board) else { throw NotThat() }
        let (id, provision) = try board.openProvision(payload)
        let live = LiveBoard(board: board, house: self, id: id, provision: provision)
        guard try await live.say(.provisionAccepted(re: id, session: live.session)) == .silent
        else { throw NotThat() }
        return live
    }

    /// Does what the broker is still to be told, as a worker would, and tells what it said
    /// to a board.
    func settle(_ board: BoardDouble) async throws -> [[UInt8]] {
        var said: [[UInt8]] = []
        for job in try await authority.jobs(in: board.installation.description) {
            if case .say(_, let payload, _) = job.job { said.append(payload) }
            try await authority.done(job)
        }
        return said
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

    /// The same asked of another authority, as one that was restored.
    func ask(_ body: BoardMessage.Body, of authority: Authority) async throws -> Reply {
        try reply(in: await authority.handle(try payload(body), from: board.installation))
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
final class NotingWorker: JobWorker {
    let consumerAccess: ConsumerAccess? = ConsumerAccess(uri: "mqtt://127.0.0.1:1", ca: nil)
    private let down = Mutex(false)

    private let lines = Mutex<[String]>([])

    /// The lines that somebody was asked to look at since this was asked last.
    func woken() -> Set<String> {
        lines.withLock { noted in
            defer { noted.removeAll() }
            return Set(noted)
        }
    }

    func fail(_ fails: Bool) { down.withLock { $0 = fails } }

    func settle(_ line: String) async throws(AuthorityError) {
        if down.withLock({ $0 }) { throw .failed(layer: "MQTT", text: "down") }
    }

    func wake(_ line: String) { lines.withLock { $0.append(line) } }
}

extension House {
    var administratorFilters: [String] { ["postern/v1/+/data/#", "postern/v1/+/status"] }

    func record(_ id: ObjectID) async throws -> SessionRecord? {
        try await store.read { transaction throws(AuthorityError) in
            try transaction.session(id)
        }
    }

    /// What an access token of this authority says.
    func claims(of token: AccessToken) async throws -> AccessTokenClaims {
        try AccessTokenClaims(
            parsing: SystemCryptography().claims(of: token, signedBy: keys.published))
    }
}
