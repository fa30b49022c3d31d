import AuthorityCore
import Hummingbird

/// One method on one path, and who may call it.
struct Route: Sendable {
    typealias Handler = @Sendable (Call) async throws(AuthorityError) -> Answer
    typealias SessionHandler = @Sendable (Call, Caller) async throws(AuthorityError) -> Answer

    /// What must hold before a route runs. A route for people with a session is handed its
    /// caller and can have none in another way.
    enum Access: Sendable {
        case open(Handler)
        /// The request names this authority's application.
        case application(Handler)
        /// That, and a session that lives.
        case session(SessionHandler)
    }

    let method: HTTPRequest.Method
    /// Below the mount, such as `/sessions/:id`.
    let path: String
    let access: Access

    init(_ method: HTTPRequest.Method, _ path: String, _ access: Access) {
        self.method = method
        self.path = path
        self.access = access
    }

    func under(_ mount: String) -> Route { Route(method, mount + path, access) }
}
