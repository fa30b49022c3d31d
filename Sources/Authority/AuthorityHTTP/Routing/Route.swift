import AuthorityCore
import Hummingbird

/// One method on one path, and who may call it.
struct Route: Sendable {
    typealias Handler = @Sendable (Call) async throws(AuthorityError) -> Answer
    typealias SessionHandler = @Sendable (Call, Caller) async throws(AuthorityError) -> Answer
    typealias AnyoneHandler = @Sendable (Call, Caller?) async throws(AuthorityError) -> Answer

    /// What must hold before a route runs. A route for people with a session is handed its
    /// caller and can have none in another way.
    enum Access: Sendable {
        case open(Handler)
        /// The request names this authority's application.
        case application(Handler)
        /// That, and a session that lives.
        case session(SessionHandler)
        /// That, and a session that lives or the master key, which then counts alone.
        case sessionOrMaster(SessionHandler)
        /// That, and a session that lives, the master key, or no session token at all: one that
        /// is malformed or over is refused, never taken for none.
        case sessionOrNone(AnyoneHandler)
        /// What the route itself asks to be shown; nil refuses. Judged before the body is read.
        case shown(@Sendable (Call) async throws(AuthorityError) -> Handler?)
    }

    let method: HTTPRequest.Method
    /// Below the mount, such as `/sessions/:id`.
    private(set) var path: String
    let access: Access
    /// The most bytes a body may have.
    let bodyLimit: Int
    /// Whether it is one of Parse's.
    private(set) var isParse = false
    /// What a call makes to do, known before it is done.
    private(set) var work: @Sendable (Call) -> Work = { _ in .ordinary }

    enum Work: Sendable {
        case ordinary
        /// It makes or verifies a hash of a password, which is slow on purpose.
        case hashing
        /// It may wait for a login provider's keys.
        case asking
    }

    /// Enough for names, passwords and custom fields.
    static let smallBody = 4 * 1024
    /// For an id token of 16 KiB and what stands around it.
    static let tokenBody = 20 * 1024
    /// For what bears a scope or an access token.
    static let largeBody = 256 * 1024

    init(
        _ method: HTTPRequest.Method, _ path: String, bodyLimit: Int = Route.smallBody,
        _ access: Access
    ) {
        self.method = method
        self.path = path
        self.access = access
        self.bodyLimit = bodyLimit
    }

    /// As a request has it.
    var methodName: String { method.rawValue }

    /// Whether the console's cookie may say who asks.
    var takesCookie: Bool {
        if case .shown = access { return false }
        return !isParse && path.hasPrefix("/postern/v1/")
    }

    func under(_ mount: String) -> Route {
        var route = self
        route.path = mount + path
        return route
    }

    func hashingPasswords() -> Route {
        var route = self
        route.work = { _ in .hashing }
        return route
    }

    /// What it makes to do is told by whether its body has a password or `authData`.
    func takingCredentials() -> Route {
        var route = self
        route.work = { $0.workOfCredential }
        return route
    }

    func parse(under mount: String) -> Route {
        var route = under(mount)
        route.isParse = true
        return route
    }
}
