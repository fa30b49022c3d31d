import AuthorityCore
import Hummingbird
import Sessions
import Wire

/// Parse's REST API for users, sessions, installations and roles.
///
/// Source: Parse REST guide.
struct ParseRoutes: Sendable {
    let frontend: any AuthorityFrontend
    let rules: ParseRules
    /// Nil: the authority keeps no data.
    let data: (any DataStore)?

    var routes: [HTTPRoute] {
        let mount = rules.mount
        let answers = QueryAnswers(
            frontend: frontend, data: data, permissions: rules.sessionPermissions)
        let users = UserRoutes(frontend: frontend, mount: mount, answers: answers)
        let sessions = SessionRoutes(
            frontend: frontend, mount: mount, permissions: rules.sessionPermissions,
            answers: answers)
        let installations = InstallationRoutes(frontend: frontend, mount: mount, answers: answers)
        let roles = RoleRoutes(frontend: frontend, mount: mount, answers: answers)
        // Each class has two paths and one set of routes.
        let objects = [
            ("/users", "_User", users.objects), ("/sessions", "_Session", sessions.objects),
            ("/installations", "_Installation", installations.objects),
            ("/roles", "_Role", roles.objects),
        ].flatMap { path, name, routes in
            routes.flatMap { [$0.under(path), $0.under("/classes/\(name)")] }
        }
        let health = HTTPRoute(.get, "/health", .open { _ in Answer(["status": .string("ok")]) })
        let all = [health] + users.routes + sessions.routes + objects
            + ClassRoutes(data: data, answers: answers).routes
        return all.map { $0.parse(under: mount) } + sessions.own
    }
}
