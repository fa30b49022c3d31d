import Hummingbird
import Sessions
import Wire

/// The body of a POST to Parse's API: what it says, apart from what is about the request.
///
/// `_method` names another method for the request; Parse's JavaScript SDK sends every request
/// so, as `text/plain`, with who asks in the body too. Source: Parse REST guide, Queries
/// (method override); Parse JavaScript SDK, `RESTController`.
struct BodyForm: Sendable {
    let members: [String: JSONValue]
    /// What is about the request: who asks, and the method.
    let control: [String: JSONValue]

    /// Nil for what is no JSON object.
    init?(_ bytes: [UInt8]) {
        guard let json = try? JSONObject(parsing: bytes, limit: Route.largeBody) else {
            return nil
        }
        control = json.members.filter { Self.isControl($0.key) }
        members = json.members.filter {
            !Self.isControl($0.key) && !Credentials.passedOver.contains($0.key)
        }
    }

    var namesCredentials: Bool { control.keys.contains { $0 != Self.method } }

    /// The route of the method that the body names, or a POST's; nil where there is none.
    func route(at resource: Resource) -> Route? {
        guard let value = control[Self.method] else { return resource.routes[.post] }
        let methods: [String: HTTPRequest.Method] = [
            "GET": .get, "POST": .post, "PUT": .put, "DELETE": .delete,
        ]
        return value.asString.flatMap { methods[$0] }.flatMap { resource.routes[$0] }
    }

    /// Whether a member is about a request and not part of what it says.
    static func isControl(_ name: String) -> Bool {
        name == method || Credentials.members.contains(name)
    }

    private static let method = "_method"
}
