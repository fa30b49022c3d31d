import AuthorityCore
import Hummingbird
import Sessions
import Wire

/// One request as a route sees it: nothing in it is trusted yet.
struct Call: Sendable {
    /// The peer's address, or whom a proxy of ours names.
    let origin: String
    let connection: Connection
    let applicationID: String?
    let bearer: Bearer
    /// How a console's page says who asks.
    let cookie: SessionCookie
    let cookieBearer: Bearer
    /// Whether a request that bears the cookie may count on it.
    let isFromOwnPage: Bool
    /// Whether it reads, by cookie, for our own page: a browser's stream of events bears no
    /// header of ours, so that of the application's id.
    let isPageReading: Bool
    /// Whether the cookie, and no header, says who asks.
    var isCookieCaller: Bool { !bearer.isThere && cookieBearer.isThere }
    /// The entity tag of what the browser has already.
    let knownTag: String?
    /// Empty until who asks has been judged.
    private(set) var body: [UInt8] = []
    private let installationHeader: String?
    private let parameters: Parameters
    private let query: [String: String]

    /// What the session header says.
    enum Bearer: Sendable {
        case none
        /// No session token could look like it.
        case malformed
        case token(SessionToken)

        init(_ header: String?) {
            self = header.map { text in SessionToken(text).map(Bearer.token) ?? .malformed }
                ?? .none
        }

        var isThere: Bool {
            if case .none = self { false } else { true }
        }
    }

    init(_ request: Request, in context: ConsoleContext) {
        origin = context.origin
        connection = context.connection
        let headers = request.headers
        applicationID = HTTPFieldName.applicationID.flatMap { headers[$0] }
        bearer = Bearer(HTTPFieldName.sessionToken.flatMap { headers[$0] })
        cookie = SessionCookie(for: request)
        cookieBearer = cookie.bearer(in: headers[.cookie])
        isFromOwnPage = PageProof.holds(for: request)
        isPageReading = request.method == .get && applicationID == nil && !bearer.isThere
            && cookieBearer.isThere && isFromOwnPage
        knownTag = headers[.ifNoneMatch]
        installationHeader = HTTPFieldName.installationID.flatMap { headers[$0] }
        parameters = context.parameters
        query = Dictionary(
            request.uri.queryParameters.map { (String($0.key), String($0.value)) },
            uniquingKeysWith: { first, _ in first })
    }

    func with(body: [UInt8]) -> Call {
        var call = self
        call.body = body
        return call
    }

    /// The body, which must be a JSON object.
    func json() throws(AuthorityError) -> JSONObject {
        try reading { () throws(WireError) in
            try JSONObject(parsing: body, limit: Route.largeBody)
        }
    }

    /// The installation that the client says it is. Source: Parse REST guide, Sessions.
    func installation() throws(AuthorityError) -> InstallationID? {
        guard let text = installationHeader else { return nil }
        guard let id = InstallationID(text) else {
            throw .refused(Refusal(
                .validation, "X-Parse-Installation-Id is a UUID, version 4, in lower case"))
        }
        return id
    }

    /// A part of the path that has a type of its own; what it cannot name does not exist.
    func parameter<T>(_ name: String, _ parse: (String) -> T?) throws(AuthorityError) -> T {
        let text = parameters.get(name).flatMap(PercentEncoding.decode)
        guard let value = text.flatMap(parse) else { throw .noObject }
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

extension AuthorityError {
    /// Parse's own words for what is not there, or not for the caller.
    static let noObject = AuthorityError.refused(Refusal(.notFound, "Object not found."))
}

/// Runs `read` over what a peer sent; what is wrong with it is told to the peer.
func reading<T>(_ read: () throws(WireError) -> T) throws(AuthorityError) -> T {
    do {
        return try read()
    } catch {
        throw .refused(error.refusal)
    }
}
