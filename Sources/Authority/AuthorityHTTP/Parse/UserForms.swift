import AuthorityCore
import Sessions
import Wire

/// The members of a `_User` as clients send them. A member that cannot be kept is refused by its
/// name.
extension ProfileChange {
    /// A sign-up's e-mail and fields. `making` names more members that the route reads.
    init(json: JSONObject, making: Set<String>) throws(AuthorityError) {
        let asMade: [String: JSONValue] = [
            "isAdministrator": .bool(false), "mayClaim": .bool(false), "enabled": .bool(true),
        ]
        let read = making.union(["username", "password", "authData"])
        let sent = json.members.filter { name, value in
            !read.contains(name) && (value != .null || asMade[name] == nil)
        }
        try self.init(sent, over: asMade)
    }

    /// A change of a user who has the members `known`, and what of its `authData` is left to link
    /// or unlink.
    static func read(
        _ json: JSONObject, over known: [String: JSONValue], origin: String
    ) throws(AuthorityError) -> (ProfileChange, authData: [String: JSONValue]) {
        let read: Set<String> = ["username", "password", "oldPassword", "keepBoards", "authData"]
        var change = try ProfileChange(
            json.members.filter { !read.contains($0.key) }, over: known)
        let data = try reading { () throws(WireError) in
            let name = try json.optional("username") { $0.asString }
            if let name, known["username"] != .string(name) { change.username = name }
            if json.members["password"] ?? .null != .null {
                change.password = try PasswordChange(
                    json: json, username: known["username"]?.asString ?? "", origin: origin)
            }
            return try json.optional("authData") { $0.asObject } ?? [:]
        }
        change.anonymousID = try AnonymousID(authData: data)
        let identities = known["authData"]?.asObject ?? [:]
        return (change, data.filter { $0.key != "anonymous" && identities[$0.key] != $0.value })
    }

    private init(
        _ members: [String: JSONValue], over known: [String: JSONValue]
    ) throws(AuthorityError) {
        self.init()
        for (name, value) in members where !Credentials.isMember(name) {
            switch name {
            case "email": email = try Email(json: value, known: known["email"])
            case _ where CustomFields.isReadOnly(name, of: .user):
                guard value == known[name] ?? .null else { throw Self.refusal(of: name) }
            default: if value != known[name] { fields[name] = value }
            }
        }
    }

    /// Whether the change is more than what a client says of its `authData`.
    var isMoreThanAuthData: Bool {
        var rest = self
        rest.anonymousID = nil
        return !rest.isEmpty
    }

    /// Codes and texts of Parse server, where it has them.
    private static func refusal(of name: String) -> AuthorityError {
        switch name {
        case "objectId", "id":
            .refused(Refusal(.badKeyName, "\(name) is an invalid field name."))
        case "emailVerified":
            .refused(Refusal(
                .forbidden, "Clients aren't allowed to manually update email verification."))
        case "ACL": .refused(Refusal(.forbidden, "a user has no ACL here"))
        case _ where name.hasPrefix("_"):
            .refused(Refusal(.badKeyName, "Invalid field name: \(name.prefix(64))."))
        default: .refused(Refusal(.forbidden, "\(name) of a user cannot be set here"))
        }
    }
}

extension ProfileChange.Email {
    /// Nil if nothing changes. `null` and Parse's `Delete` remove the address.
    fileprivate init?(json: JSONValue, known: JSONValue?) throws(AuthorityError) {
        switch json {
        case _ where json == known ?? .null: return nil
        case .null: self = .remove
        case .string(let text): self = .set(text)
        case .object(let members) where members["__op"] == .string("Delete"): self = .remove
        default:
            throw .refused(Refusal(
                .wrongType, "schema mismatch for _User.email; expected String"))
        }
    }
}

extension ProfileChange.AnonymousID {
    fileprivate init?(authData: [String: JSONValue]) throws(AuthorityError) {
        guard let value = authData["anonymous"] else { return nil }
        guard value != .null else {
            self = .remove
            return
        }
        self = .keep(try reading { () throws(WireError) in
            try JSONObject(authData).object("anonymous").secret("id")
        })
    }
}

extension Credentials {
    /// Whether a member of a body belongs to the request and not to its data.
    static func isMember(_ name: String) -> Bool {
        BodyForm.isControl(name) || passedOver.contains(name)
    }
}

extension JSONObject {
    /// Whether `authData` names a provider. SDKs send `{"anonymous": null}` for a user who is not
    /// anonymous.
    var hasAuthData: Bool {
        switch members["authData"] ?? .null {
        case .null: false
        case .object(let data): data.isEmpty || data.values.contains { $0 != .null }
        default: true
        }
    }

    /// Whether the member is anything but `null` and the empty text.
    func has(_ name: String) -> Bool {
        ![.null, .string("")].contains(members[name] ?? .null)
    }

    /// Whether the member is a text that is not empty.
    func hasText(_ name: String) -> Bool { members[name]?.asString?.isEmpty == false }
}
