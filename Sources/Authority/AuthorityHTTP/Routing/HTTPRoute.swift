import AuthorityCore
import Hummingbird

/// One method on one path, and the callers that may use it.
struct HTTPRoute: Sendable {
    typealias Handler = @Sendable (Call) async throws(AuthorityError) -> Answer
    typealias SessionHandler = @Sendable (Call, Caller) async throws(AuthorityError) -> Answer
    typealias AnyoneHandler = @Sendable (Call, Caller?) async throws(AuthorityError) -> Answer

    /// The condition under which a route runs. A route that needs a session gets its caller only
    /// from here.
    enum Access: Sendable {
        case open(Handler)
        /// The request names this authority's application. Every case below but `shown` requires
        /// this too.
        case application(Handler)
        /// A live session.
        case session(SessionHandler)
        /// A live session or the master key. If both are sent, the master key alone counts.
        case sessionOrMaster(SessionHandler)
        /// A live session, the master key, or no session token at all. A malformed or ended token
        /// is refused and never treated as absent.
        case sessionOrNone(AnyoneHandler)
        /// The route checks the request itself; nil refuses. The check runs before the body is
        /// read.
        case shown(@Sendable (Call) async throws(AuthorityError) -> Handler?)
    }

    let method: HTTPRequest.Method
    /// The path below the mount, such as `/sessions/:id`, until `under` adds the mount.
    private(set) var path: String
    let access: Access
    /// The largest body, in bytes.
    let bodyLimit: Int
    /// Whether the route belongs to Parse's API.
    private(set) var isParse = false
    /// The kind of work that a call causes, known before it runs.
    private(set) var work: @Sendable (Call) -> Work = { _ in .ordinary }

    /// Whether the route asks a login provider for anybody who comes.
    private(set) var asksForStrangers = false

    enum Work: Sendable {
        case ordinary
        /// Makes or verifies a password hash, which is slow on purpose.
        case hashing
        /// Checks an id token or exchanges a code, and so may wait for a login provider.
        case asking
    }

    /// Enough for names, passwords and custom fields.
    static let smallBody = 4 * 1024
    /// For an id token of 16 KiB and the JSON around it.
    static let tokenBody = 20 * 1024
    /// For a body with a scope or an access token.
    static let largeBody = 256 * 1024

    init(
        _ method: HTTPRequest.Method, _ path: String, bodyLimit: Int = HTTPRoute.smallBody,
        _ access: Access
    ) {
        self.method = method
        self.path = path
        self.access = access
        self.bodyLimit = bodyLimit
    }

    /// The method as text, such as `GET`.
    var methodName: String { method.rawValue }

    /// Whether the route accepts the session from the console's cookie.
    var takesCookie: Bool {
        switch access {
        case .shown: return false
        // A board's request.
        case .open where method == .post: return false
        default: return !isParse && path.hasPrefix("/postern/v1/")
        }
    }

    func under(_ mount: String) -> HTTPRoute {
        var route = self
        route.path = mount + path
        return route
    }

    func hashingPasswords() -> HTTPRoute {
        var route = self
        route.work = { _ in .hashing }
        return route
    }

    func asking() -> HTTPRoute {
        var route = self
        route.work = { _ in .asking }
        route.asksForStrangers = true
        return route
    }

    /// The kind of work depends on whether the body has a password or `authData`.
    func takingCredentials() -> HTTPRoute {
        var route = self
        route.work = { $0.workOfCredential }
        return route
    }

    func parse(under mount: String) -> HTTPRoute {
        var route = under(mount)
        route.isParse = true
        return route
    }
}
