import Sessions
import Wire

/// A board, as the authority lists it.
struct BoardRow: Sendable {
    let installation: InstallationID
    let name: String
    /// Empty if the authority does not know labels.
    let labels: [String]
    let owner: String
    /// The right that the owner gives to the user; nil for the owner.
    let sharedRight: String?
    let session: ObjectID?
    let sessionState: String?
    let sessionExpiresAt: Timestamp?
    /// When the session ends by itself, and why.
    let sessionEndsAt: Timestamp?
    let sessionEndCause: String?
    /// Within how many days the session ends, once that is announced.
    let sessionWarning: Int64?
    /// Why the last session ended; nil while one lives.
    let sessionEnd: String?
    let isRenewable: Bool
    /// The renewal that waits for the board.
    let renewal: MessageID?
    let lastSeen: Timestamp?
    /// `up` or `down`; nil if the board has sent no status.
    let status: String?
    let sessionAvailable: Bool?
    let version: String?

    init(json: JSONObject) throws(WireError) {
        installation = try json.parsed("installationId", InstallationID.init)
        name = try json.string("name")
        labels = try json.optional("labels") { $0.asArray }?.compactMap(\.asString) ?? []
        owner = try json.string("owner")
        sharedRight = try json.optional("shared") { $0.asObject?["right"]?.asString }
        session = try json.optional("sessionId") { $0.asString.flatMap(ObjectID.init) }
        sessionState = try json.optional("sessionState") { $0.asString }
        sessionExpiresAt = try Self.time("sessionExpiresAt", in: json)
        sessionEndsAt = try Self.time("sessionEndsAt", in: json)
        sessionEndCause = try json.optional("sessionEndCause") { $0.asString }
        sessionWarning = try json.optional("sessionWarning") { $0.asInteger }
        sessionEnd = try json.optional("sessionEnd") { $0.asString }
        isRenewable = try json.optional("renewable") { $0.asBool } ?? false
        renewal = try json.optional("renewal") { value in
            value.asObject?["claimId"]?.asString.flatMap(MessageID.init)
        }
        lastSeen = try Self.time("lastSeen", in: json)
        status = try json.optional("status") { $0.asString }
        sessionAvailable = try json.optional("sessionAvailable") { $0.asBool }
        version = try json.optional("version") { $0.asString }
    }

    private static func time(_ name: String, in json: JSONObject) throws(WireError) -> Timestamp? {
        try json.optional(name) { $0.asInteger.flatMap(Timestamp.init(seconds:)) }
    }

    var json: JSONValue {
        .object([
            "installationId": .string(installation.description), "name": .string(name),
            "labels": .array(labels.map(JSONValue.string)), "owner": .string(owner),
            "sharedRight": sharedRight.map(JSONValue.string) ?? .null,
            "sessionId": session.map { .string($0.description) } ?? .null,
            "sessionState": sessionState.map(JSONValue.string) ?? .null,
            "sessionExpiresAt": sessionExpiresAt.map(JSONValue.time) ?? .null,
            "sessionEndsAt": sessionEndsAt.map(JSONValue.time) ?? .null,
            "sessionEndCause": sessionEndCause.map(JSONValue.string) ?? .null,
            "sessionWarning": sessionWarning.map(JSONValue.integer) ?? .null,
            "sessionEnd": sessionEnd.map(JSONValue.string) ?? .null,
            "renewable": .bool(isRenewable),
            "renewal": renewal.map { .string($0.description) } ?? .null,
            "lastSeen": lastSeen.map(JSONValue.time) ?? .null,
            "status": status.map(JSONValue.string) ?? .null,
            "sessionAvailable": sessionAvailable.map(JSONValue.bool) ?? .null,
            "version": version.map(JSONValue.string) ?? .null,
        ])
    }

    /// When the session ends, for people: an idle end, which each contact moves, only once it is
    /// near.
    var shownEnd: Timestamp? {
        sessionWarning == nil ? sessionExpiresAt ?? sessionEndsAt : sessionEndsAt
    }

    /// The owner, with what the owner lets the user do.
    var ownerWords: String { sharedRight.map { "\(owner) (\($0))" } ?? owner }

    /// The session in a few words, with the command that helps where it ended.
    var sessionWords: String {
        if renewal != nil { return "expired; a renewal waits for the board" }
        if isRenewable { return "expired: postern boards renew" }
        return sessionState ?? sessionEnd ?? "none"
    }

    /// The state of the board in a few words.
    var condition: String {
        switch (status, sessionAvailable) {
        case ("up", true): "up"
        case ("up", false): "up, no session"
        case ("down", _): "down"
        default: "unknown"
        }
    }
}
