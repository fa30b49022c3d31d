import Sessions
import Wire

/// A board, as the authority lists it.
struct BoardRow: Sendable {
    let installation: InstallationID
    let name: String
    let owner: String
    let session: ObjectID?
    let sessionState: String?
    let sessionExpiresAt: Timestamp?
    let lastSeen: Timestamp?
    /// `up` or `down`; nil if the board has sent no status.
    let status: String?
    let sessionAvailable: Bool?
    let version: String?

    init(json: JSONObject) throws(WireError) {
        installation = try json.parsed("installationId", InstallationID.init)
        name = try json.string("name")
        owner = try json.string("owner")
        session = try json.optional("sessionId") { $0.asString.flatMap(ObjectID.init) }
        sessionState = try json.optional("sessionState") { $0.asString }
        sessionExpiresAt = try Self.time("sessionExpiresAt", in: json)
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
            "owner": .string(owner),
            "sessionId": session.map { .string($0.description) } ?? .null,
            "sessionState": sessionState.map(JSONValue.string) ?? .null,
            "sessionExpiresAt": sessionExpiresAt.map(JSONValue.time) ?? .null,
            "lastSeen": lastSeen.map(JSONValue.time) ?? .null,
            "status": status.map(JSONValue.string) ?? .null,
            "sessionAvailable": sessionAvailable.map(JSONValue.bool) ?? .null,
            "version": version.map(JSONValue.string) ?? .null,
        ])
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
