import AuthorityCore
import Gate
import Hummingbird
import Sessions

/// Parse's routes for objects of any other class. All are refused, because an authority keeps no
/// data.
///
/// Source: Parse REST guide, Objects.
struct ClassRoutes: Sendable {
    let data: (any DataStore)?

    var routes: [HTTPRoute] {
        [
            HTTPRoute(.get, "/classes/:class", .session(refuse)),
            HTTPRoute(.post, "/classes/:class", .session(refuse)),
            HTTPRoute(.get, "/classes/:class/:id", .session(refuse)),
            HTTPRoute(.put, "/classes/:class/:id", .session(refuse)),
            HTTPRoute(.delete, "/classes/:class/:id", .session(refuse)),
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
