import AuthorityCore
import Sessions
import Wire

// Names and passwords as clients send them.

extension JSONObject {
    /// Long enough for any name; the frontend has the rule for new ones.
    func username() throws(WireError) -> String {
        try parsed("username") { UsernameText($0)?.text }
    }

    /// A password or the like, 1 to 1024 bytes.
    func secret(_ name: String) throws(WireError) -> SecretBytes {
        try required(name, SecretBytes.init(json:))
    }

    func optionalSecret(_ name: String) throws(WireError) -> SecretBytes? {
        try optional(name, SecretBytes.init(json:))
    }

    /// A member that is false when absent.
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

/// A name as anyone may send it: bounded, and nothing more is known of it.
struct UsernameText: Sendable {
    let text: String

    init?(_ text: String) {
        guard (1...256).contains(text.utf8.count) else { return nil }
        self.text = text
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
    /// `{"username", "password"}` or `{"authData": {"anonymous": {"id"}}}`; both at once, or
    /// another provider, is refused.
    ///
    /// Source: Parse REST guide, Signing Up and Linking Users.
    init(json: JSONObject) throws(AuthorityError) {
        let data = try reading { () throws(WireError) in
            try json.optional("authData") { $0.asObject }
        }
        guard let data else {
            self = try reading { () throws(WireError) in
                .password(username: try json.username(), try json.secret("password"))
            }
            return
        }
        guard Set(data.keys) == ["anonymous"] else {
            throw .refused(Refusal(.forbidden, "of authData only anonymous is taken"))
        }
        guard json.members["username"] == nil, json.members["password"] == nil else {
            throw .refused(Refusal(.validation, "either a name and password, or authData"))
        }
        self = try reading { () throws(WireError) in
            .anonymous(id: try JSONObject(data).object("anonymous").secret("id"))
        }
    }
}
