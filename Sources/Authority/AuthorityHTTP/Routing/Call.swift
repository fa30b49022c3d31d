import AuthorityCore
import Hummingbird
import HummingbirdCore
import Sessions
import Wire

/// One request in the form that a route receives. Nothing in it is trusted yet.
struct Call: Sendable {
    let context: ConsoleContext
    /// The peer's address, or the address that one of our proxies names.
    var origin: String { context.origin }
    var connection: HTTPConnection { context.connection }
    /// Whether the peer is on this machine and no proxy header is set.
    let isFromThisMachine: Bool
    private(set) var credentials: Credentials
    /// The cookie in which the console's page sends its session.
    let cookie: SessionCookie
    let cookieBearer: Bearer
    /// The cookie that binds a passkey's challenge to this visit.
    let passkeyVisit: SecretBytes?
    /// The cookie that binds a login at a provider to this visit.
    let providerVisit: SecretBytes?
    /// Whether our own page made the request. Only then does the cookie count.
    let isFromOwnPage: Bool
    /// Whether our own page makes this GET with the cookie alone. Such a request needs no
    /// application id, because a browser's event stream cannot send our headers.
    let isPageReading: Bool
    /// Whether the session comes from the cookie and not from a header.
    var isCookieCaller: Bool { !bearer.isThere && cookieBearer.isThere }
    /// The entity tag of the copy that the browser has.
    let knownTag: String?
    /// The secret that a broker sends: in the path, or as a bearer token.
    var brokerSecret: String? { parameters["secret"] ?? bearerText }
    private let bearerText: String?
    /// The id that the client gave the request, not yet parsed, and the request's place in a batch.
    let requestID: (text: String, part: Int?)?
    /// The method and pattern of the route that runs, such as `POST /parse/users`.
    private(set) var route = ""
    /// The query, not decoded. For a broker's GET it takes the place of a form.
    let queryBytes: [UInt8]
    /// Empty until the caller has been checked.
    private(set) var body: [UInt8] = []
    /// The body's members, if the body has been parsed already.
    private var members: [String: JSONValue]?
    /// Whether the request had the master key and a session.
    private(set) var isMaster = false
    private let parameters: [String: String]
    private let query: [String: String]

    var applicationID: String? { credentials.applicationID }
    var bearer: Bearer { credentials.bearer }

    /// The value of the session header.
    enum Bearer: Sendable {
        case none
        /// The text cannot be a session token.
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

    init(
        _ request: Request, in context: ConsoleContext, at parameters: [String: String],
        basicFor application: String?
    ) {
        self.context = context
        let headers = request.headers
        isFromThisMachine = context.isLoopback
            && !HTTPFieldName.forwarded.contains { $0.map(headers.contains) ?? false }
        credentials = Credentials(headers, basicFor: application)
        cookie = SessionCookie(for: request)
        cookieBearer = cookie.bearer(in: headers[.cookie])
        passkeyVisit = cookie.visit(in: headers[.cookie])
        providerVisit = cookie.providerVisit(in: headers[.cookie])
        isFromOwnPage = CSRFCheck.holds(for: request)
        isPageReading = request.method == .get && credentials.applicationID == nil
            && !credentials.bearer.isThere
            && cookieBearer.isThere && isFromOwnPage
        knownTag = headers[.ifNoneMatch]
        let scheme = "Bearer "
        bearerText = headers[.authorization].flatMap { text in
            text.hasPrefix(scheme) ? String(text.dropFirst(scheme.count)) : nil
        }
        requestID = HTTPFieldName.requestID.flatMap { headers[$0] }.map { ($0, nil) }
        queryBytes = Array((request.uri.query ?? "").utf8)
        self.parameters = parameters
        query = Self.query(request.uri)
    }

    /// One request of a batch. Its credentials are those of the batch; everything else is its own.
    init(
        of batch: Call, part: Int, to uri: URI, at parameters: [String: String],
        _ body: JSONObject?
    ) {
        context = batch.context
        isFromThisMachine = batch.isFromThisMachine
        credentials = batch.credentials
        cookie = batch.cookie
        cookieBearer = .none
        passkeyVisit = nil
        providerVisit = nil
        isFromOwnPage = false
        isPageReading = false
        knownTag = nil
        bearerText = nil
        requestID = batch.requestID.map { ($0.text, part) }
        queryBytes = []
        members = body?.members
        self.parameters = parameters
        query = Self.query(uri)
    }

    /// Parses a query in form encoding, where `+` is a space. If a name comes twice, the first
    /// counts. Text with a broken escape stays unchanged, so that the route refuses it.
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

    func on(_ route: HTTPRoute) -> Call {
        var call = self
        call.route = "\(route.methodName) \(route.path)"
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
            try JSONObject(parsing: body, limit: HTTPRoute.largeBody)
        }
    }

    /// The parameters of a request that reads: from the query, or from the body of a POST that
    /// names the method GET.
    var options: [String: JSONValue] {
        query.mapValues(JSONValue.string).merging(members ?? [:]) { $1 }
    }

    /// The installation that the client names. Source: Parse REST guide, Sessions.
    func installation() throws(AuthorityError) -> InstallationID? {
        guard let text = credentials.installation else { return nil }
        guard let id = InstallationID(text) else {
            throw .refused(Refusal(
                .validation, "X-Parse-Installation-Id must be a UUID, version 4, in lower case"))
        }
        return id
    }

    /// A typed part of the path. If it does not parse, the object does not exist: 101.
    func parameter<T>(_ name: String, _ parse: (String) -> T?) throws(AuthorityError) -> T {
        guard let value = parameters[name].flatMap(parse) else { throw .noObject }
        return value
    }

    /// `?everyone=true`, for administrators.
    func everyone() throws(AuthorityError) -> Bool { try flag("everyone") }

    /// `?name=true`. False if it is absent.
    func flag(_ name: String) throws(AuthorityError) -> Bool {
        switch options[name] {
        case nil, .string("false"), .bool(false): false
        case .string("true"), .bool(true): true
        default: throw .refused(Refusal(.validation, "\(name) must be true or false"))
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
    /// Parse's own text, for an object that does not exist or that the caller may not see.
    static let noObject = AuthorityError.refused(Refusal(.notFound, "Object not found."))
}

/// Runs `read` on data from a peer. A wire error becomes a refusal that the peer receives.
func reading<T>(_ read: () throws(WireError) -> T) throws(AuthorityError) -> T {
    do {
        return try read()
    } catch {
        throw .refused(error.refusal)
    }
}
