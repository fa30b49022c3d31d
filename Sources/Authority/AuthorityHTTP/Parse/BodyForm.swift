import Hummingbird
import Sessions
import Wire

/// The body of a POST to Parse's API, split into data and control members.
///
/// `_method` names another method for the request. Parse's JavaScript SDK sends every request this
/// way, as `text/plain`, with the credentials in the body. Source: Parse REST guide, Queries
/// (method override); Parse JavaScript SDK, `RESTController`.
struct BodyForm: Sendable {
    let members: [String: JSONValue]
    /// The credentials and the method.
    let control: [String: JSONValue]

    /// Nil if the body is not a JSON object.
    init?(_ bytes: [UInt8]) {
        guard let json = try? JSONObject(parsing: bytes, limit: HTTPRoute.largeBody) else {
            return nil
        }
        control = json.members.filter { Self.isControl($0.key) }
        members = json.members.filter {
            !Self.isControl($0.key) && !Credentials.passedOver.contains($0.key)
        }
    }

    var namesCredentials: Bool { control.keys.contains { $0 != Self.method } }

    /// The route of the method that the body names, or of POST if it names none. Nil if there is no
    /// such route.
    func route(at resource: Resource) -> HTTPRoute? {
        guard let value = control[Self.method] else { return resource.routes[.post] }
        let methods: [String: HTTPRequest.Method] = [
            "GET": .get, "POST": .post, "PUT": .put, "DELETE": .delete,
        ]
        return value.asString.flatMap { methods[$0] }.flatMap { resource.routes[$0] }
    }

    /// Whether a member is a credential or the method, and not data.
    static func isControl(_ name: String) -> Bool {
        name == method || Credentials.members.contains(name)
    }

    private static let method = "_method"
}
