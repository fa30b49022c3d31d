import AuthorityCore
import Gate
import Sessions
import Wire

/// An authority of one administrator and one board, which notes what it is asked. A second
/// token is that of a restricted session of the same person.
actor StubFrontend: AuthorityFrontend {
    nonisolated let info = AuthorityInfo(
        name: "Home", applicationID: "postern", publicURL: "https://authority.example",
        topicRoot: .standard, version: "0.1", idleSession: .seconds(365 * 86_400))
    static let token = "r:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
    static let restrictedToken = "r:BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBA"
    /// What a call that opens a session answers.
    static let freshToken = "r:CCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCCA"
    static let iid = "3f1f7c0e-2b7a-4d4e-9c55-0123456789ab"
    static let claimID = "11111111-2222-4333-8444-555555555555"
    static let start = 1_700_000_000

    /// What every call after the login throws, if anything.
    var failure: AuthorityError?
    private var failing = ""
    /// What a claim's board has answered.
    var claimState = Claim.State.accepted
    var claimNotes: [String] = []
    /// Sessions that `revokeAll` ends.
    var liveSessions = 3
    var brokerURI = "mqtt://127.0.0.1:1883"
    /// The calls in their order, with what matters of them and no secret.
    var calls: [String] = []

    /// How often somebody asked whose a token is.
    var callers = 0

    var holdsLogins = false
    var heldLogins: [CheckedContinuation<Void, Never>] = []

    /// Logins and changes of a board wait from now on, until they are released.
    func holdLogins() { holdsLogins = true }
    func releaseLogins() {
        holdsLogins = false
        for login in heldLogins { login.resume() }
        heldLogins = []
    }

    var isBrokerTold = true
    /// The scope that was set, and whether its board confirms it.
    var scope: ScopeDocument?
    private var confirmsScopes = true
    var isScopePending = false

    func leaveScopesPending() { confirmsScopes = false }

    /// More boards of alice, by id and name; bob's are in everyone's list alone.
    var more: [(id: String, name: String, isBobs: Bool)] = []

    func addBoard(_ id: String, _ name: String, isBobs: Bool = false) {
        more.append((id, name, isBobs))
    }

    /// One more living session, `sEsS000003`, on a board.
    private var other: (board: String, name: String)?

    func addSession(board: String, _ name: String) { other = (board, name) }

    func leaveBrokerUntold() { isBrokerTold = false }
    /// From now on each call that is noted with this beginning fails.
    func fail(with failure: AuthorityError?, at call: String = "") {
        (self.failure, failing) = (failure, call)
    }
    func answerClaims(with state: Claim.State) { claimState = state }
    func noteOnClaims(_ notes: [String]) { claimNotes = notes }
    func haveLiveSessions(_ count: Int) { liveSessions = count }
    func useBroker(_ uri: String) { brokerURI = uri }

    /// What becomes of every command.
    var commandState = CommandRecord.State.answered
    var commandDelivery = CommandRecord.Delivery.none

    func endCommands(
        as state: CommandRecord.State, delivery: CommandRecord.Delivery = .none
    ) {
        (commandState, commandDelivery) = (state, delivery)
    }

    private var spent: [NamedRequest] = []

    /// Spends an id before its effect, which is enough to see that a route asks for it.
    func once(_ request: NamedRequest) throws(AuthorityError) -> any AuthorityFrontend {
        guard !spent.contains(request) else {
            throw .refused(Refusal(code: 159, text: "Duplicate request"))
        }
        spent.append(request)
        return self
    }

    func note(_ call: String) throws(AuthorityError) {
        calls.append(call)
        if let failure, call.hasPrefix(failing) { throw failure }
    }

    func id(_ text: String) throws(AuthorityError) -> ObjectID {
        guard let id = ObjectID(text) else { throw .failed(layer: "stub", text: text) }
        return id
    }

    func userID(_ text: String) throws(AuthorityError) -> UserID {
        guard let id = UserID(text) else { throw .failed(layer: "stub", text: text) }
        return id
    }

    func time(_ offset: Int64) -> Timestamp {
        Timestamp(milliseconds: (Int64(Self.start) + offset) * 1000)
    }

    func user(_ name: String = "alice", isEnabled: Bool = true) throws(AuthorityError) -> UserView {
        let isAlice = name == "alice"
        return UserView(
            objectID: try userID(isAlice ? "uSeR000001" : "uSeR000002"), username: name,
            isAdministrator: isAlice, mayClaim: isAlice, createdAt: time(0),
            isEnabled: isEnabled)
    }

    func view(
        board: Bool, expiresAt: Timestamp? = nil, custom: [String: JSONValue] = [:]
    ) throws(AuthorityError) -> SessionView {
        let session = Session(
            objectID: try id(board ? "sEsS000002" : "sEsS000001"), user: try user().objectID,
            restricted: board,
            createdWith: CreatedWith(
                action: board ? "create" : "login", authProvider: "password"),
            installationID: board ? InstallationID(Self.iid) : nil, createdAt: time(1),
            expiresAt: expiresAt ?? (board ? time(3600) : nil),
            custom: ["sessionToken": .string("r:never"), "label": .string("porch")]
                .merging(custom) { $1 })
        return SessionView(
            session: session, username: "alice", state: .active, lastSeen: board ? time(60) : nil,
            boardName: board ? "greenhouse" : nil, generation: board ? 7 : nil,
            outlook: SessionOutlook(of: session, lastHeard: time(60)), latestEnd: time(7200),
            scope: scope, isScopePending: isScopePending)
    }

    private func view(
        _ id: String, on board: String, named name: String
    ) throws(AuthorityError) -> SessionView {
        let known = try view(board: true)
        return SessionView(
            session: Session(
                objectID: try self.id(id), user: known.session.user, restricted: true,
                createdWith: known.session.createdWith, installationID: InstallationID(board),
                createdAt: known.session.createdAt, expiresAt: nil, custom: [:]),
            username: "alice", state: .active, lastSeen: nil, boardName: name, generation: 7,
            outlook: known.outlook, latestEnd: known.latestEnd)
    }

    func login(_ attempt: LoginAttempt) async throws(AuthorityError) -> LoggedIn {
        await waitForRelease()
        try note("login \(attempt.isByEmail ? "by e-mail " : "")\(attempt.username)"
            + " from \(attempt.origin)\(at(attempt.installation))")
        guard attempt.password.matches(SecretBytes(Array("correct".utf8))),
            let token = SessionToken(Self.token)
        else { throw .refused(Refusal(.notFound, "Invalid username/password.")) }
        return LoggedIn(token: token, session: try view(board: false).session, user: try user())
    }

    func holder(of token: SessionToken) async throws(AuthorityError) -> TokenHolder {
        callers += 1
        let isRestricted = token.reveal() == Self.restrictedToken
        guard isRestricted || token.reveal() == Self.token else { return .nobody(.unknownToken) }
        return .caller(Caller(user: try user(), session: try view(board: isRestricted).session))
    }

    func logout(_ caller: Caller) async throws(AuthorityError) {
        try note("logout \(caller.session.objectID)")
    }

    func at(_ installation: InstallationID?) -> String {
        installation.map { " at \($0)" } ?? ""
    }

    func json(_ custom: [String: JSONValue]) -> String { JSONValue.object(custom).text }

    func claim(_ order: ClaimOrder, by caller: Caller) async throws(AuthorityError) -> Claim {
        try note("claim \(order.url.name) for \(order.terms.duration?.components.seconds ?? 0) s"
            + " scope \(order.terms.scope?.json.text ?? "none")"
            + (order.terms.custom.isEmpty ? "" : " custom \(json(order.terms.custom))")
            + (order.imported.map { " imported\($0.access == nil ? "" : " with access")" } ?? ""))
        return try claim(state: .sent)
    }

    func claim(_ id: MessageID, by caller: Caller) async throws(AuthorityError) -> Claim {
        try note("claim \(id)")
        return try claim(state: claimState)
    }

    func openClaims(
        by caller: Caller, everyone: Bool
    ) async throws(AuthorityError) -> [OpenClaim] {
        try note("open claims everyone \(everyone)")
        return [OpenClaim(
            claim: try claim(state: .sent), boardName: "greenhouse", claimant: "bob",
            madeAt: time(5))]
    }

    func endClaim(_ id: MessageID, by caller: Caller) async throws(AuthorityError) -> Bool {
        try note("end claim \(id)")
        return isBrokerTold
    }

    func forgetRevocation(
        of board: InstallationID, by caller: Caller
    ) async throws(AuthorityError) -> Bool {
        try note("forget the revocation of \(board)")
        return isBrokerTold
    }

    private func claim(state: Claim.State) throws(AuthorityError) -> Claim {
        guard let claim = MessageID(Self.claimID), let board = InstallationID(Self.iid) else {
            throw .failed(layer: "stub", text: "ids")
        }
        return Claim(
            id: claim, board: board, session: try id("sEsS000002"), state: state,
            expiresAt: time(600),
            reason: state == .rejected ? Refusal(.forbidden, "already\u{1b}[2J claimed") : nil,
            notes: claimNotes)
    }

    func boards(by caller: Caller, everyone: Bool) async throws(AuthorityError) -> [Board] {
        try note("boards everyone \(everyone)")
        let shown = more.filter { everyone || !$0.isBobs }
        return try [board()] + shown.map { entry throws(AuthorityError) in
            try board(named: entry.name, entry.id, of: entry.isBobs ? "bob" : "alice")
        }
    }

    func board(
        named name: String = "greenhouse", _ id: String = iid, of owner: String = "alice",
        labels: [BoardLabel] = []
    ) throws(AuthorityError) -> Board {
        guard let board = InstallationID(id), let key = KeyID("a2V5LWlkLTE") else {
            throw .failed(layer: "stub", text: id)
        }
        return Board(
            installation: board, name: name, owner: try user(owner), deviceKey: key,
            session: try view(board: true), lastSeen: time(60),
            status: BoardStatus(up: true, available: true, version: "0.1", since: time(2)),
            scope: ScopeDocument(unchecked: .object(["default": .string("deny")])),
            labels: labels)
    }

    func dataReleases(
        of board: InstallationID, by caller: Caller
    ) async throws(AuthorityError) -> [DataRelease] {
        let known = try self.board(named: "greenhouse", board.description, of: "alice")
        return [DataRelease(
            board: board, owner: known.owner.objectID, at: Timestamp(milliseconds: 1))]
    }

    func replace(
        _ old: InstallationID, by new: InstallationID, lastArrived: Int64?, for caller: Caller
    ) async throws(AuthorityError) -> BoardReplacement {
        try note("replace \(old) by \(new)")
        return BoardReplacement(
            replaced: ReplacedBoard(
                installation: old, successor: new, deviceKey: [], replacedAt: caller.user.createdAt,
                lost: LostMessages(waited: 12, after: 40)),
            isBrokerTold: isBrokerTold, hasConfiguration: true)
    }

    func release(_ board: InstallationID, by caller: Caller) async throws(AuthorityError) -> Bool {
        try note("release \(board)")
        return isBrokerTold
    }

    func explain(
        _ order: ExplainOrder, by caller: Caller
    ) async throws(AuthorityError) -> Explanation {
        let write = order.write
        try note("explain \(write.app) \(write.operation) \(write.className)"
            + (write.record.map { " \($0)" } ?? "") + ", \(order.payload.count) bytes")
        let rejection = Rejection(
            code: .forbidden, rule: .policy(line: 10), reason: "only create is allowed")
        return Explanation(
            verdicts: [
                .init(layer: .builtin, decision: .allow(.builtin(.allowed)), reason: "nothing"),
                .init(layer: .scope, decision: nil, reason: "no scope"),
                .init(layer: .policy, decision: .deny(rejection), reason: rejection.reason),
            ], decision: .deny(rejection), reason: rejection.reason, knowsPolicy: true)
    }

    func sessions(
        _ slice: ListSlice, by caller: Caller, everyone: Bool, withEnded: Bool
    ) async throws(AuthorityError) -> [SessionView] {
        try note("sessions everyone \(everyone)")
        let first = [try view(board: false), try view(board: true)]
        guard let other else { return slice.of(first) }
        return slice.of(first + [try view("sEsS000003", on: other.board, named: other.name)])
    }

    func session(_ id: ObjectID, by caller: Caller) async throws(AuthorityError) -> SessionView {
        try note("session \(id)")
        guard id.description.hasPrefix("sEsS") else {
            throw .refused(Refusal(.notFound, "Object not found."))
        }
        if confirmsScopes { isScopePending = false }
        return try view(board: true)
    }

    func revoke(_ id: ObjectID, by caller: Caller) async throws(AuthorityError) -> Bool {
        try note("revoke \(id)")
        return isBrokerTold
    }

    func user(_ id: UserID, by caller: Caller) async throws(AuthorityError) -> UserView {
        try note("user \(id)")
        let known = [try user(), try user("bob", isEnabled: false)]
        guard let found = known.first(where: { $0.objectID == id }) else {
            throw .refused(Refusal(.notFound, "Object not found."))
        }
        return found
    }

    func users(
        _ slice: ListSlice?, by caller: Caller
    ) async throws(AuthorityError) -> [UserView] {
        try note("users")
        return (slice ?? .longest).of([try user(), try user("bob", isEnabled: false)])
    }

    func addUser(_ user: NewUser, by caller: Caller) async throws(AuthorityError) -> UserView {
        try note("add \(user.username) admin \(user.isAdministrator) claim \(user.mayClaim)"
            + user.profile.noted)
        return UserView(
            objectID: try userID("uSeR000002"), username: user.username,
            isAdministrator: user.isAdministrator, mayClaim: user.mayClaim, createdAt: time(5))
    }

    func audit(
        _ query: AuditQuery, by caller: Caller
    ) async throws(AuthorityError) -> [AuditEntry] {
        let board = query.board?.description ?? "all"
        try note("audit \(query.limit) \(board)\(filters(of: query))")
        return [
            AuditEntry(
                number: 7, at: time(3), event: "claim", actor: "alice", board: query.board,
                session: nil, detail: "greenhouse")
        ]
    }

    private func filters(of query: AuditQuery) -> String {
        let parts = [
            query.session.map { " session \($0)" }, query.actor.map { " actor \($0)" },
            query.event.map { " event \($0)" }, query.since.map { " since \($0.seconds)" },
            query.until.map { " until \($0.seconds)" }, query.before.map { " before \($0)" },
        ]
        return parts.compactMap { $0 }.joined()
    }

    func brokerLogin(by caller: Caller) async throws(AuthorityError) -> BrokerLogin {
        try note("broker")
        return BrokerLogin(
            uri: brokerURI, clientID: "watch-1", username: "watch",
            password: SecretBytes(Array("broker-secret".utf8)), ca: nil,
            filters: ["postern/v1/\(Self.iid)/data/#"])
    }

    func addConsumer(
        _ order: ConsumerOrder, by caller: Caller
    ) async throws(AuthorityError) -> NewConsumer {
        let parts = [
            order.name.description, order.boards.map { "\($0.count) boards" } ?? "all boards",
            order.classes.map { $0.map(\.description).joined(separator: "+") } ?? "all classes",
        ]
        let end: String
        switch order.end {
        case nil: end = "for ever"
        case .at(let time): end = "until \(time.seconds)"
        case .after(let span): end = "for \(span.components.seconds) s"
        }
        try note("consumer.add \(parts.joined(separator: " ")) \(end)")
        let consumer = Consumer(
            name: order.name, clientID: "postern-consumer-1", boards: order.boards,
            classes: order.classes, createdAt: Timestamp(milliseconds: 0), until: nil,
            boardsLeftOut: 0)
        return NewConsumer(consumer: consumer, login: try await brokerLogin(by: caller))
    }

    func consumers(by caller: Caller) async throws(AuthorityError) -> [Consumer] {
        try note("consumers")
        return []
    }

    func removeConsumer(
        _ name: ConsumerName, by caller: Caller
    ) async throws(AuthorityError) -> Bool {
        try note("consumer.remove \(name)")
        return true
    }
}
