import HTTPTypes
import Hummingbird

/// Lets the web pages of some other origins use Parse's API (CORS). The cookie never counts there,
/// so no answer allows credentials.
///
/// Source: WHATWG Fetch, "CORS protocol".
struct OtherOrigins: Sendable {
    /// As browsers write them, such as `https://app.example`. Empty: CORS is off.
    let origins: Set<String>
    let mount: String

    /// What a page may send besides what every page may. The master key is not for pages.
    private static let headers = [
        "Content-Type", "X-Parse-Application-Id", "X-Parse-Client-Key", "X-Parse-Client-Version",
        "X-Parse-Installation-Id", "X-Parse-JavaScript-Key", "X-Parse-Request-Id",
        "X-Parse-REST-API-Key", "X-Parse-Revocable-Session", "X-Parse-Session-Token",
        "X-Requested-With",
    ].joined(separator: ", ")
    /// How long a browser keeps the answer to a preflight, in seconds.
    private static let life = 600

    /// The answer to a preflight of one of these origins, without the headers of `allow`. Nil for
    /// any other request.
    func preflight(_ request: Request) -> Response? {
        guard request.method == .options, origin(of: request) != nil,
            request.headers[.accessControlRequestMethod] != nil
        else { return nil }
        return Response(status: .noContent, headers: [
            .accessControlAllowMethods: "GET, POST, PUT, DELETE",
            .accessControlAllowHeaders: Self.headers, .accessControlMaxAge: "\(Self.life)",
            .cacheControl: "no-store",
        ])
    }

    /// Adds the headers that let the page read the answer.
    func allow(_ request: Request, _ response: inout Response) {
        guard isParse(request) else { return }
        response.headers[values: .vary].append("Origin")
        guard let origin = origin(of: request) else { return }
        response.headers[.accessControlAllowOrigin] = origin
        response.headers[.accessControlExposeHeaders] = "Location, Retry-After"
    }

    /// The request's origin, if it is one of these and the request goes to Parse's API.
    private func origin(of request: Request) -> String? {
        guard isParse(request), let origin = request.headers[.origin] else { return nil }
        return origins.contains(origin) ? origin : nil
    }

    private func isParse(_ request: Request) -> Bool {
        let path = request.uri.path
        return !origins.isEmpty && (path == mount || path.hasPrefix(mount + "/"))
    }
}
