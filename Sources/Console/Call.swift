import AuthorityCore
import Hummingbird
import Sessions
import Wire

/// One request as a route sees it: nothing in it is trusted yet.
struct Call: Sendable {
    /// The peer's address.
    let origin: String
    let applicationID: String?
    /// Nil if the header is absent or no session token could look like it.
    let token: SessionToken?
    let body: [UInt8]
    private let parameters: Parameters
    private let query: [String: String]

    /// The most bytes a body may have.
    static let bodyLimit = 256 * 1024

    init(_ request: Request, body: [UInt8], in context: ConsoleContext) {
        origin = context.origin
        let headers = request.headers
        applicationID = HTTPFieldName.applicationID.flatMap { headers[$0] }
        token = HTTPFieldName.sessionToken.flatMap { headers[$0] }.flatMap(SessionToken.init)
        self.body = body
        parameters = context.parameters
        query = Dictionary(
            request.uri.queryParameters.map { (String($0.key), String($0.value)) },
            uniquingKeysWith: { first, _ in first })
    }

    /// The body, which must be a JSON object.
    func json() throws(AuthorityError) -> JSONObject {
        try reading { () throws(WireError) in try JSONObject(parsing: body, limit: Self.bodyLimit) }
    }

    /// A part of the path that has a type of its own; what it cannot name does not exist.
    func parameter<T>(_ name: String, _ parse: (String) -> T?) throws(AuthorityError) -> T {
        guard let value = parameters.get(name).flatMap(parse) else {
            throw .refused(Refusal(.notFound, "Object not found."))
        }
        return value
    }

    /// `?everyone=true`, for administrators.
    func everyone() throws(AuthorityError) -> Bool {
        switch query["everyone"] {
        case nil, "false": false
        case "true": true
        default: throw .refused(Refusal(.validation, "everyone is true or false"))
        }
    }

    /// A query parameter that may be absent but not malformed.
    func queried<T>(_ name: String, _ parse: (String) -> T?) throws(AuthorityError) -> T? {
        guard let text = query[name] else { return nil }
        guard let value = parse(text) else {
            throw .refused(Refusal(.validation, "the parameter \(name) is malformed"))
        }
        return value
    }
}

/// Runs `read` over what a peer sent; what is wrong with it is told to the peer.
func reading<T>(_ read: () throws(WireError) -> T) throws(AuthorityError) -> T {
    do {
        return try read()
    } catch {
        throw .refused(error.refusal)
    }
}
