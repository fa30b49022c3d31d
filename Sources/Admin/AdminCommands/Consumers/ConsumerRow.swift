import Sessions
import Wire

/// A consumer, as the authority lists it.
struct ConsumerRow: Sendable {
    let name: String
    let clientID: String
    /// Nil: all boards of the user.
    let boards: [InstallationID]?
    /// Nil: all classes.
    let classes: [String]?
    let createdAt: Timestamp
    let until: Timestamp?
    let boardsLeftOut: Int64
    /// Nil if the broker does not tell.
    let isConnected: Bool?

    init(json: JSONObject) throws(WireError) {
        name = try json.string("name")
        clientID = try json.string("clientId")
        boards = try json.optional("boards") { $0.texts?.compactMap { InstallationID($0) } }
        classes = try json.optional("classes") { $0.texts }
        createdAt = try json.time("createdAt")
        until = try json.optional("until") { $0.asInteger.flatMap(Timestamp.init(seconds:)) }
        boardsLeftOut = try json.optional("boardsLeftOut") { $0.asInteger } ?? 0
        isConnected = try json.optional("connected") { $0.asBool }
    }

    var json: JSONValue {
        .object([
            "name": .string(name), "clientId": .string(clientID),
            "boards": boards.map { .array($0.map { .string($0.description) }) } ?? .null,
            "classes": classes.map { .array($0.map(JSONValue.string)) } ?? .null,
            "createdAt": .time(createdAt), "until": until.map(JSONValue.time) ?? .null,
            "boardsLeftOut": .integer(boardsLeftOut),
            "connected": isConnected.map(JSONValue.bool) ?? .null,
        ])
    }
}

/// A consumer that was just made, with all that its program needs.
struct MadeConsumer: Sendable {
    let name: String
    let login: ConsumerLogin
    let fingerprint: String?
    let until: Timestamp?

    init(json: JSONObject) throws(WireError) {
        name = try json.string("name")
        login = try ConsumerLogin(json: json, filters: "topics")
        fingerprint = try json.optional("fingerprint") { $0.asString }
        until = try json.optional("until") { $0.asInteger.flatMap(Timestamp.init(seconds:)) }
        // They are pasted into files of other programs, so a line end would be another option.
        for text in [login.clientID, login.username, password] + topics {
            guard Printable.line(text) == text else { throw .mistyped("topics") }
        }
    }

    var topics: [String] { login.filters }

    /// To be shown once.
    var password: String { String(decoding: login.password.reveal(), as: UTF8.self) }

    /// The last three members are there only if they have a value.
    var json: JSONValue {
        var members: [String: JSONValue] = [
            "uri": .string(login.uri.description), "clientId": .string(login.clientID),
            "username": .string(login.username), "password": .string(password),
            "topics": .array(topics.map(JSONValue.string)),
        ]
        members["ca"] = login.ca.map(JSONValue.string)
        members["fingerprint"] = fingerprint.map(JSONValue.string)
        members["until"] = until.map(JSONValue.time)
        return .object(members)
    }
}
