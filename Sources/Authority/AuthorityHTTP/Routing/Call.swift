import AuthorityCore
import Hummingbird
import HummingbirdCore
import Sessions
import Wire

/// One request as a route sees it: nothing in it is trusted yet.
struct Call: Sendable {
    let context: ConsoleContext
    /// The peer's address, or whom a proxy of ours names.
    var origin: String { context.origin }
    var connection: Connection { context.connection }
    /// Whether the peer is on this machine and no proxy stands before it.
    let isFromThisMachine: Bool
    private(set) var credentials: Credentials
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
    /// What a broker shows to be answered: in the path, or as a bearer.
    var brokerSecret: String? { parameters["secret"] ?? bearerText }
    private let bearerText: String?
    /// The query as it came; of a GET it stands for a form.
    let queryBytes: [UInt8]
    /// Empty until who asks has been judged.
    private(set) var body: [UInt8] = []
    /// The body's members, where it has been read already.
    private var members: [String: JSONValue]?
    /// Whether the master key was shown beside a session.
    private(set) var isMaster = false
    private let parameters: [String: String]
    private let query: [String: String]

    var applicationID: String? { credentials.applicationID }
    var bearer: Bearer { credentials.bearer }

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

    init(_ request: Request, in context: ConsoleContext, at parameters: [String: String]) {
        self.context = context
        let headers = request.headers
        isFromThisMachine = context.isLoopback
            && !HTTPFieldName.forwarded.contains { $0.map(headers.contains) ?? false }
        credentials = Credentials(headers)
        cookie = SessionCookie(for: request)
        cookieBearer = cookie.bearer(in: headers[.cookie])
        isFromOwnPage = PageProof.holds(for: request)
        isPageReading = request.method == .get && credentials.applicationID == nil
            && !credentials.bearer.isThere
            && cookieBearer.isThere && isFromOwnPage
        knownTag = headers[.ifNoneMatch]
        let scheme = "Bearer "
        bearerText = headers[.authorization].flatMap { text in
            text.hasPrefix(scheme) ? String(text.dropFirst(scheme.count)) : nil
        }
        queryBytes = Array((request.uri.query ?? "").utf8)
        self.parameters = parameters
        query = Self.query(request.uri)
    }

    /// One request of a batch: who asks is who sent the batch, and all else is its own.
    init(of batch: Call, to uri: URI, at parameters: [String: String], _ body: JSONObject?) {
        context = batch.context
        isFromThisMachine = batch.isFromThisMachine
        credentials = batch.credentials
        cookie = batch.cookie
        cookieBearer = .none
        isFromOwnPage = false
        isPageReading = false
        knownTag = nil
        bearerText = nil
        queryBytes = []
        members = body?.members
        self.parameters = parameters
        query = Self.query(uri)
    }

    /// As forms encode it: `+` is a space. Of two of a name the first counts; what is badly
    /// encoded stays as it is, for the route to refuse.
    ///
    /// Source: WHATWG URL §5.1.
    private static func query(_ uri: URI) -> [String: String] {
        let pairs = (uri.query ?? "").split(separator: "&").map { pair in
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                .map { part in
                    let text = part.split(separator: "+", omittingEmptySubsequences: false)
                        .joined(separator: " ")
                    return PercentEncoding.decode(text) ?? text
                }
            return (parts.first ?? "", parts.count > 1 ? parts[1] : "")
        }
        return Dictionary(pairs, uniquingKeysWith: { first, _ in first })
    }

    func with(body: [UInt8]) -> Call {
        var call = self
        call.body = body
        return call
    }

    func with(members: [String: JSONValue]) -> Call {
        var call = self
        call.members = members
        return call
    }

    func with(_ credentials: Credentials) -> Call {
        var call = self
        call.credentials = credentials
        return call
    }

    func having(masterKey: Bool) -> Call {
        var call = self
        call.isMaster = masterKey
        return call
    }

    /// The body, which must be a JSON object.
    func json() throws(AuthorityError) -> JSONObject {
        if let members { return JSONObject(members) }
        return try reading { () throws(WireError) in
            try JSONObject(parsing: body, limit: Route.largeBody)
        }
    }

    /// What a request that reads asks for: in the query, or in the body of one that is a POST
    /// in place of it.
    var options: [String: JSONValue] {
        query.mapValues(JSONValue.string).merging(members ?? [:]) { $1 }
    }

    /// The installation that the client says it is. Source: Parse REST guide, Sessions.
    func installation() throws(AuthorityError) -> InstallationID? {
        guard let text = credentials.installation else { return nil }
        guard let id = InstallationID(text) else {
            throw .refused(Refusal(
                .validation, "X-Parse-Installation-Id is a UUID, version 4, in lower case"))
        }
        return id
    }

    /// A part of the path that has a type of its own; what it cannot name does not exist.
    func parameter<T>(_ name: String, _ parse: (String) -> T?) throws(AuthorityError) -> T {
        guard let value = parameters[name].flatMap(parse) else { throw .noObject }
        return value
    }

    /// `?everyone=true`, for administrators.
    func everyone() throws(AuthorityError) -> Bool {
        switch options["everyone"] {
        case nil, .string("false"), .bool(false): false
        case .string("true"), .bool(true): true
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
