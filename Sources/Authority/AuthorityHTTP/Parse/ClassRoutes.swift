import AuthorityCore
import Gate
import Hummingbird
import Sessions

/// Parse's routes for objects of any other class. All are refused, because an authority keeps no
/// data.
///
/// Source: Parse REST guide, Objects.
struct ClassRoutes: Sendable {
    var routes: [Route] {
        [
            Route(.get, "/classes/:class", .session(refuse)),
            Route(.post, "/classes/:class", .session(refuse)),
            Route(.get, "/classes/:class/:id", .session(refuse)),
            Route(.put, "/classes/:class/:id", .session(refuse)),
            Route(.delete, "/classes/:class/:id", .session(refuse)),
        ]
    }

    private func refuse(_ call: Call, by caller: Caller) throws(AuthorityError) -> Answer {
        guard let name = ClassName(try call.parameter("class") { $0 }) else {
            throw .refused(Refusal(.badClassName, "this is not a valid class name"))
        }
        throw .refused(
            caller.refusal(writing: name)
                ?? Refusal(.forbidden, "this authority stores no objects of classes"))
    }
}
