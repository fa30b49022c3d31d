import AuthorityCore
import Gate
import Hummingbird
import Sessions

/// Parse's ways to objects of any class, which lead nowhere here: an authority keeps no data,
/// and users, sessions and roles are not written as objects, whoever asks.
///
/// Source: Parse REST guide, Objects and Roles.
struct ClassRoutes: Sendable {
    var routes: [Route] {
        [
            Route(.get, "/classes/:class", .session(query)),
            Route(.post, "/classes/:class", .session(write)),
            Route(.get, "/classes/:class/:id", .session(read)),
            Route(.put, "/classes/:class/:id", .session(write)),
            Route(.delete, "/classes/:class/:id", .session(write)),
            Route(.get, "/roles", .session { _, _ in .results([]) }),
            Route(.post, "/roles", .session(writeRole)),
            Route(.get, "/roles/:id", .session { _, _ throws(AuthorityError) in throw .noObject }),
            Route(.put, "/roles/:id", .session(writeRole)),
            Route(.delete, "/roles/:id", .session(writeRole)),
        ]
    }

    private func query(_ call: Call, by caller: Caller) throws(AuthorityError) -> Answer {
        _ = try protectedClass(of: call)
        return .results([])
    }

    private func read(_ call: Call, by caller: Caller) throws(AuthorityError) -> Answer {
        _ = try protectedClass(of: call)
        throw .noObject
    }

    private func write(_ call: Call, by caller: Caller) throws(AuthorityError) -> Answer {
        try refuse(caller, try protectedClass(of: call))
    }

    private func writeRole(_ call: Call, by caller: Caller) throws(AuthorityError) -> Answer {
        try refuse(caller, .role)
    }

    /// A restricted caller hears the gate's own word, as a board's program would.
    private func refuse(
        _ caller: Caller, _ name: ClassName
    ) throws(AuthorityError) -> Never {
        throw .refused(
            caller.refusal(writing: name)
                ?? Refusal(.forbidden, "\(name) is protected; no object of it is written here"))
    }

    private func protectedClass(of call: Call) throws(AuthorityError) -> ClassName {
        guard let name = ClassName(try call.parameter("class") { $0 }) else {
            throw .refused(Refusal(.badClassName, "no class has such a name"))
        }
        guard name.isProtected else {
            throw .refused(Refusal(.forbidden, "this authority keeps no data of classes"))
        }
        return name
    }
}
