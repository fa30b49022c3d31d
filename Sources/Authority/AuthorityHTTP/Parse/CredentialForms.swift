import AuthorityCore
import Sessions
import Wire

// Names and passwords as clients send them.

extension JSONObject {
    /// Accepts any text of some length; the frontend has stricter rules for names.
    func username() throws(WireError) -> String {
        try parsed("username") { UsernameText($0)?.text }
    }

    /// A password or another secret, 1 to 1024 bytes.
    func secret(_ name: String) throws(WireError) -> SecretBytes {
        try required(name, SecretBytes.init(json:))
    }

    func optionalSecret(_ name: String) throws(WireError) -> SecretBytes? {
        try optional(name, SecretBytes.init(json:))
    }

    /// A boolean member; false if it is absent.
    func flag(_ name: String) throws(WireError) -> Bool {
        try optional(name) { $0.asBool } ?? false
    }
}

extension SecretBytes {
    fileprivate convenience init?(json: JSONValue) {
        guard let text = json.asString, (1...1024).contains(text.utf8.count) else { return nil }
        self.init(Array(text.utf8))
    }
}

extension Call {
    /// The work that a body with credentials causes. A password needs hashing, and `authData` of a
    /// login provider may need the provider's keys. A malformed body needs neither.
    var workOfCredential: HTTPRoute.Work {
        do throws(AuthorityError) {
            let members = try json().members
            if members["password"] ?? .null != .null { return .hashing }
            let asks = members["authData"]?.asObject?.contains {
                $0.key != "anonymous" && $0.value != .null
            }
            return asks ?? false ? .asking : .ordinary
        } catch {
            return .ordinary
        }
    }
}

/// A user name from a request: 1 to 1024 bytes, not checked further.
struct UsernameText: Sendable {
    let text: String

    init?(_ text: String) {
        guard (1...1024).contains(text.utf8.count) else { return nil }
        self.text = text
    }
}

extension LoginAttempt {
    /// `{"username" or "email", "password"}`. A user name may be an e-mail address as well.
    init(
        json: JSONObject, origin: String, installation: InstallationID? = nil
    ) throws(WireError) {
        let isByEmail = json.members["username"] ?? .null == .null
        self.init(
            username: isByEmail
                ? try json.parsed("email") { UsernameText($0)?.text } : try json.username(),
            isByEmail: isByEmail, password: try json.secret("password"), origin: origin,
            installation: installation)
    }
}

extension PasswordChange {
    /// `{"password", "oldPassword"?, "keepBoards"?}`.
    init(json: JSONObject, username: String, origin: String) throws(WireError) {
        self.init(
            username: username, password: try json.secret("password"),
            old: try json.optionalSecret("oldPassword"),
            keepsBoards: try json.flag("keepBoards"), origin: origin)
    }
}

extension SignUp.Credential {
    /// `{"username", "password"}`, `{"authData": {"anonymous": {"id"}}}` or
    /// `{"authData": {"<provider>": {"id_token", "id"?}}}`; more than one at once is refused.
    ///
    /// Source: Parse REST guide, Signing Up and Linking Users.
    init(json: JSONObject) throws(AuthorityError) {
        guard json.hasAuthData else {
            self = try reading { () throws(WireError) in
                .password(username: try json.username(), try json.secret("password"))
            }
            return
        }
        let data = try reading { () throws(WireError) in
            try json.required("authData") { $0.asObject }
        }
        guard data.count == 1, let (name, content) = data.first else {
            throw .refused(Refusal(.forbidden, "authData must name one provider"))
        }
        guard ["username", "password"].allSatisfy({ json.members[$0] ?? .null == .null }) else {
            throw .refused(Refusal(.validation, "send either a name and password, or authData"))
        }
        if let provider = LoginProvider(name) {
            self = .identity(try IdentityProof(json: content, from: provider))
            return
        }
        guard name == "anonymous" else { throw .noProvider }
        self = try reading { () throws(WireError) in
            .anonymous(id: try JSONObject(data).object("anonymous").secret("id"))
        }
    }
}

extension IdentityProof {
    /// `{"id_token", "id"?}`, as Parse's clients pass on a provider's answer. Other members are
    /// ignored.
    ///
    /// Source: Parse REST guide, Linking Users; OpenID Connect Core §3.1.3.3 (`id_token`).
    init(json: JSONValue, from provider: LoginProvider) throws(AuthorityError) {
        guard let members = json.asObject, members["id_token"] != nil else { throw .noProvider }
        let data = JSONObject(members)
        self = try reading { () throws(WireError) in
            IdentityProof(
                provider: provider, token: try data.parsed("id_token", IDToken.init),
                id: try data.optional("id") { $0.asString })
        }
    }
}

/// Links a provider's identity, or unlinks it.
///
/// `{"<provider>": {"id_token", "id"?}}` links; `null` in place of the provider's object unlinks.
///
/// Source: Parse REST guide, Linking and Unlinking.
enum IdentityChange: Sendable {
    case link(IdentityProof)
    case unlink(LoginProvider)

    init(authData: [String: JSONValue]) throws(AuthorityError) {
        guard authData.count == 1, let (name, content) = authData.first,
            let provider = LoginProvider(name)
        else { throw .noProvider }
        self = content == .null
            ? .unlink(provider) : .link(try IdentityProof(json: content, from: provider))
    }
}

extension AuthorityError {
    static let noProvider = refused(Refusal(
        .forbidden, "authData takes only anonymous, or one provider's id_token"))
}

extension [IdentityRecord] {
    /// Parse's `authData`, without any token; nil if there are no identities.
    var authData: JSONValue? {
        guard !isEmpty else { return nil }
        return .object(Dictionary(
            map { ($0.provider.description, .object(["id": .string($0.subject)])) },
            uniquingKeysWith: { first, _ in first }))
    }
}
