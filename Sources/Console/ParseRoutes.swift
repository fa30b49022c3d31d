import AuthorityCore
import Hummingbird
import Sessions
import Wire

/// Parse's REST API, as far as sessions and the command line need it.
///
/// Source: Parse REST guide, Users, Sessions, Roles and Objects.
struct ParseRoutes: Sendable {
    let frontend: any AuthorityFrontend
    let mount: String

    var routes: [Route] {
        let health = Route(.get, "/health", .open { _ in Answer(["status": .string("ok")]) })
        let users = UserRoutes(frontend: frontend, mount: mount).routes
        let sessions = SessionRoutes(frontend: frontend, mount: mount).routes
        return ([health] + users + sessions + ClassRoutes().routes).map { $0.under(mount) }
    }
}
