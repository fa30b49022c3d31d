import AuthorityCore
import Hummingbird
import Sessions

/// The cookie that keeps a user logged in at the console. Scripts cannot read its token, and no
/// other site's request carries it.
///
/// Source: RFC 6265bis §4.1.2 (`HttpOnly`, `SameSite`) and §4.1.3.2 (`__Host-`).
struct SessionCookie: Sendable {
    /// Whether the browser sends the cookie over TLS only, and accepts it over TLS only.
    let isSecure: Bool

    init(isSecure: Bool) { self.isSecure = isSecure }

    /// Secure, except for a loopback address, where no TLS is needed.
    init(for request: Request) {
        isSecure = !Self.isLoopback(request.head.authority ?? "")
    }

    private var name: String { isSecure ? "__Host-postern_session" : "postern_session" }
    /// The cookie that binds a passkey's challenge to this visit.
    private var visitName: String { isSecure ? "__Host-postern_passkey" : "postern_passkey" }
    /// The cookie that binds a login at a provider to this visit. The provider's redirect must
    /// bring it, so it is `SameSite=Lax`: it comes with links, but with no other request of another
    /// site.
    private var providerVisitName: String {
        isSecure ? "__Host-postern_provider" : "postern_provider"
    }
    private var attributes: String { attributes(sameSite: "Strict") }

    private func attributes(sameSite: String) -> String {
        "; Path=/; HttpOnly; SameSite=\(sameSite)" + (isSecure ? "; Secure" : "")
    }

    /// A `Set-Cookie` that keeps the login until its session ends, for 400 days at most.
    func keeping(_ login: LoggedIn) -> String {
        let longest = Int64(400 * 86_400)
        let session = login.session
        let life = session.expiresAt.map { ($0 - session.createdAt).components.seconds }
        let age = min(life ?? longest, longest)
        return "\(name)=\(login.token.reveal())\(attributes); Max-Age=\(age)"
    }

    /// A `Set-Cookie` that makes the browser delete the cookie.
    var forgetting: String { "\(name)=\(attributes); Max-Age=0" }

    /// A `Set-Cookie` for the time that the challenge lives.
    func keeping(_ options: PasskeyOptions) -> String {
        let text = String(decoding: options.visit.reveal(), as: UTF8.self)
        return "\(visitName)=\(text)\(attributes); Max-Age=\(options.life.components.seconds)"
    }

    /// A `Set-Cookie` for the time that the person has for the login there. A new one replaces it,
    /// so a browser has one begun login.
    func keeping(_ departure: ProviderDeparture) -> String {
        let text = String(decoding: departure.visit.reveal(), as: UTF8.self)
        return "\(providerVisitName)=\(text)\(attributes(sameSite: "Lax"))"
            + "; Max-Age=\(departure.life.components.seconds)"
    }

    var forgettingProviderVisit: String {
        "\(providerVisitName)=\(attributes(sameSite: "Lax")); Max-Age=0"
    }

    /// The session in a `Cookie` header. If the cookie comes twice, neither counts, because
    /// somebody else set one of them.
    func bearer(in header: String?) -> Call.Bearer {
        let values = values(of: name, in: header)
        guard values.count < 2 else { return .malformed }
        return Call.Bearer(values.first.map(String.init))
    }

    /// The cookie of a passkey's challenge. Nil if it is absent or comes twice.
    func visit(in header: String?) -> SecretBytes? { only(visitName, in: header) }

    /// The cookie of a login at a provider. Nil if it is absent or comes twice.
    func providerVisit(in header: String?) -> SecretBytes? { only(providerVisitName, in: header) }

    private func only(_ name: String, in header: String?) -> SecretBytes? {
        let values = values(of: name, in: header)
        return values.count == 1 ? SecretBytes(Array(values[0].utf8)) : nil
    }

    private func values(of name: String, in header: String?) -> [Substring] {
        (header ?? "").split(separator: ";").compactMap { pair -> Substring? in
            let pair = pair.drop { $0 == " " }
            guard pair.hasPrefix("\(name)=") else { return nil }
            return pair.dropFirst(name.utf8.count + 1)
        }
    }

    private static func isLoopback(_ authority: String) -> Bool {
        let host = authority.hasPrefix("[")
            ? String(authority.prefix { $0 != "]" }) + "]"
            : String(authority.prefix { $0 != ":" })
        return ["localhost", "127.0.0.1", "[::1]"].contains(host.lowercased())
    }
}

/// Checks whether our own page made a request.
///
/// `SameSite=Strict` already keeps the cookie out of other sites' requests. This check also
/// protects old browsers, and against a hostile sibling domain. No form can set our header. A
/// script of another origin needs a preflight to set it, and no preflight is granted for it.
///
/// Source: W3C Fetch Metadata §2.1; RFC 6454 §7.
enum CSRFCheck {
    static func holds(for request: Request) -> Bool {
        let headers = request.headers
        let isReading = request.method == .get || request.method == .head
        if let site = HTTPFieldName.fetchSite.flatMap({ headers[$0] }),
            site != "same-origin", !(isReading && site == "none")
        {
            return false
        }
        if let origin = headers[.origin], !isOwn(origin, request.head.authority ?? "") {
            return false
        }
        return isReading || HTTPFieldName.page.flatMap { headers[$0] } == "1"
    }

    private static func isOwn(_ origin: String, _ authority: String) -> Bool {
        guard !authority.isEmpty else { return false }
        let own = authority.lowercased()
        return ["http://", "https://"].contains { origin.lowercased() == $0 + own }
    }
}
