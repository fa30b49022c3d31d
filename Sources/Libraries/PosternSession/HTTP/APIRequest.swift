import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// One request to the authority; `path` is below its address.
struct APIRequest: Sendable {
    var method = "GET"
    let path: String
    var query: [URLQueryItem] = []
    var body: Data?

    static func get(_ path: String, _ query: [URLQueryItem] = []) -> Self {
        Self(path: path, query: query)
    }

    static func delete(_ path: String) -> Self { Self(method: "DELETE", path: path) }

    static func send(
        _ method: String, _ path: String, _ body: some Encodable
    ) throws(SessionError) -> Self {
        do {
            return Self(method: method, path: path, body: try JSONEncoder().encode(body))
        } catch {
            throw .invalid("an argument cannot be written as JSON")
        }
    }
}

/// The address of an authority, and how its requests are made.
struct AuthorityAddress: Sendable {
    let root: URL
    let applicationID: String?
    let clientKey: String?

    /// Takes `https` anywhere, and `http` to this machine only, because tokens are sent there.
    init(_ root: URL, applicationID: String?, clientKey: String?) throws(SessionError) {
        let host = root.host?.lowercased() ?? ""
        let isLoopback = ["localhost", "127.0.0.1", "::1", "[::1]"].contains(host)
        let isSafe = root.scheme == "https" || (root.scheme == "http" && isLoopback)
        guard isSafe, !host.isEmpty, root.query == nil, root.fragment == nil, root.user == nil
        else {
            throw .invalid("the authority's address must begin with https://, and name a host")
        }
        self.root = root
        self.applicationID = applicationID
        self.clientKey = clientKey
    }

    func request(
        _ request: APIRequest, application: String?, token: BearerToken?, patience: Duration
    ) throws(SessionError) -> URLRequest {
        guard var parts = URLComponents(url: root, resolvingAgainstBaseURL: false) else {
            throw .invalid("the authority's address cannot be used")
        }
        while parts.path.hasSuffix("/") { parts.path.removeLast() }
        parts.path += request.path
        if !request.query.isEmpty { parts.queryItems = request.query }
        guard let url = parts.url else { throw .invalid("the path of a request cannot be used") }
        var sent = URLRequest(url: url)
        sent.httpMethod = request.method
        sent.httpBody = request.body
        sent.httpShouldHandleCookies = false
        sent.timeoutInterval = patience / .seconds(1)
        if request.body != nil {
            sent.setValue("application/json", forHTTPHeaderField: "Content-Type")
        }
        sent.setValue(applicationID ?? application, forHTTPHeaderField: "X-Parse-Application-Id")
        sent.setValue(clientKey, forHTTPHeaderField: "X-Parse-Client-Key")
        sent.setValue(token?.reveal(), forHTTPHeaderField: "X-Parse-Session-Token")
        return sent
    }
}
