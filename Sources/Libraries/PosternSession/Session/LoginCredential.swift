import Foundation

/// How a person shows who they are. It is never printed and never stored.
public struct LoginCredential: Sendable, CustomStringConvertible, CustomReflectable {
    enum Kind: Sendable {
        case password(username: String, password: String)
        case idToken(provider: String, token: String)
        case anonymous
    }

    let kind: Kind

    /// A user name, or an e-mail address, and a password.
    public static func password(username: String, password: String) -> Self {
        Self(kind: .password(username: username, password: password))
    }

    /// An OpenID Connect id token of a provider that the authority's `[login.…]` names.
    public static func idToken(_ token: String, provider: String) -> Self {
        Self(kind: .idToken(provider: provider, token: token))
    }

    /// A new user without a name. Nobody can log in as that user again after a logout.
    public static var anonymous: Self { Self(kind: .anonymous) }

    public var description: String { "LoginCredential" }
    public var customMirror: Mirror { Mirror(self, children: [:]) }

    /// The request of the login; `parse` is where the authority has Parse's routes.
    func request(parse: String) throws(SessionError) -> APIRequest {
        switch kind {
        case .password(let username, let password):
            try .send(
                "POST", "/postern/v1/login", ["username": username, "password": password])
        case .idToken(let provider, let token):
            try .send("POST", "\(parse)/users", ["authData": [provider: ["id_token": token]]])
        case .anonymous:
            try .send("POST", "\(parse)/users", [
                "authData": ["anonymous": ["id": UUID().uuidString.lowercased()]],
            ])
        }
    }
}

/// The token of a session. It is shown in requests and in the stored record only.
struct BearerToken: Sendable, CustomStringConvertible, CustomReflectable {
    private let text: String

    init(_ text: String) { self.text = text }

    func reveal() -> String { text }

    var description: String { "BearerToken" }
    var customMirror: Mirror { Mirror(self, children: [:]) }
}
