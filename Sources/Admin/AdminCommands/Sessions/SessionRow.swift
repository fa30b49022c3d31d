import Sessions
import Wire

/// A session as the authority lists it, read from Parse's form.
struct SessionRow: Sendable {
    let session: Session
    let state: String
    let username: String
    let boardName: String?
    let lastSeen: Timestamp?
    /// How often its refresh token was rotated; nil if it has none.
    let generation: Int64?
    /// When it ends by itself, and why.
    let endsAt: Timestamp?
    let endCause: SessionOutlook.Cause?
    /// The latest end that `extend` can set.
    let latestEnd: Timestamp?
    let scope: JSONValue?
    /// Whether its board has not confirmed that scope yet.
    let isScopePending: Bool

    private static let known: Set = [
        "objectId", "user", "restricted", "createdWith", "installationId", "createdAt",
        "expiresAt", "state", "username", "boardName", "lastSeen", "generation", "sessionToken",
        "isThisOne", "updatedAt", "endsAt", "endCause", "latestEnd", "scope", "scopePending",
    ]

    init(json: JSONObject) throws(WireError) {
        let origin = try json.object("createdWith")
        session = Session(
            objectID: try json.parsed("objectId", ObjectID.init),
            user: try json.object("user").parsed("objectId", UserID.init),
            restricted: try json.required("restricted") { $0.asBool },
            createdWith: CreatedWith(
                action: try origin.string("action"),
                authProvider: try origin.string("authProvider")),
            installationID: try json.optional("installationId") { value in
                value.asString.flatMap(InstallationID.init)
            },
            createdAt: try json.parsed("createdAt", ParseDate.parse),
            expiresAt: try Self.date("expiresAt", in: json),
            custom: json.members.filter { !Self.known.contains($0.key) && $0.value != .null })
        state = try json.string("state")
        username = try json.string("username")
        boardName = try json.optional("boardName") { $0.asString }
        lastSeen = try Self.date("lastSeen", in: json)
        generation = try json.optional("generation") { $0.asInteger }
        endsAt = try Self.date("endsAt", in: json)
        endCause = try json.optional("endCause") { value in
            value.asString.flatMap(SessionOutlook.Cause.init(rawValue:))
        }
        latestEnd = try Self.date("latestEnd", in: json)
        scope = json.members["scope"].flatMap { $0 == .null ? nil : $0 }
        isScopePending = json.members["scopePending"] == .bool(true)
    }

    /// Parse's `Date` type.
    private static func date(_ name: String, in json: JSONObject) throws(WireError) -> Timestamp? {
        try json.optional(name) { value in
            value.asObject?["iso"]?.asString.flatMap(ParseDate.parse)
        }
    }

    /// The name that a person gave it, or the program that logged in by a browser.
    var name: String? { session.custom["name"]?.asString }

    var stateWords: String { isScopePending ? "\(state), scope waits for the board" : state }

    var scopeWords: String {
        let text = scope?.text ?? (session.restricted ? "everything a restricted session may" : "")
        return isScopePending ? "\(text) (waiting for the board)" : text
    }

    var json: JSONValue {
        .object([
            "objectId": .string(session.objectID.description),
            "user": .string(session.user.description), "username": .string(username),
            "restricted": .bool(session.restricted), "state": .string(state),
            "installationId": session.installationID.map { .string($0.description) } ?? .null,
            "boardName": boardName.map(JSONValue.string) ?? .null,
            "createdAt": .time(session.createdAt),
            "expiresAt": session.expiresAt.map(JSONValue.time) ?? .null,
            "generation": generation.map(JSONValue.integer) ?? .null,
            "custom": .object(session.custom),
            "lastSeen": lastSeen.map(JSONValue.time) ?? .null,
            "endsAt": endsAt.map(JSONValue.time) ?? .null,
            "endCause": endCause.map { .string($0.rawValue) } ?? .null,
            "latestEnd": latestEnd.map(JSONValue.time) ?? .null,
            "scope": scope ?? .null, "scopePending": .bool(isScopePending),
            "createdWith": .object([
                "action": .string(session.createdWith.action),
                "authProvider": .string(session.createdWith.authProvider),
            ]),
        ])
    }
}
