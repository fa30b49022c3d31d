import Sessions
import Wire

/// The commands of mosquitto's dynamic security plugin that an authority uses, as JSON.
///
/// Source: mosquitto 2.0.11, `plugins/dynamic-security/README.md`.
enum DynamicSecurity {
    static let requestTopic = "$CONTROL/dynamic-security/v1"
    static let responseTopic = "$CONTROL/dynamic-security/v1/response"

    struct Command: Sendable {
        let name: String
        let members: [String: JSONValue]

        func json(correlation: String) -> JSONValue {
            var members = members
            members["command"] = .string(name)
            members["correlationData"] = .string(correlation)
            return .object(members)
        }
    }

    /// One command's answer: its data, or the plugin's words for why not.
    struct Response: Sendable {
        let error: String?
        let data: JSONValue?
    }

    static func payload(_ commands: [JSONValue]) -> [UInt8] {
        JSONValue.object(["commands": .array(commands)]).bytes
    }

    /// The answers in a payload by their correlation; those to others' commands too.
    static func responses(in payload: [UInt8]) -> [String: Response] {
        let json: JSONObject
        do throws(WireError) {
            json = try JSONObject(parsing: payload, limit: 64 << 20)
        } catch {
            return [:]
        }
        let all = json.members["responses"]?.asArray ?? []
        var responses: [String: Response] = [:]
        for members in all.compactMap(\.asObject) {
            guard let correlation = members["correlationData"]?.asString else { continue }
            responses[correlation] = Response(
                error: members["error"]?.asString, data: members["data"])
        }
        return responses
    }

    static let clientExists = "Client already exists"
    static let clientMissing = "Client not found"
    static let roleExists = "Role already exists"
    static let roleMissing = ["Role does not exist", "Role not found"]
}

/// What a role lets its clients do; all else is refused.
struct BrokerRole: Equatable, Sendable {
    struct Entry: Hashable, Sendable {
        let kind: String
        let topic: String
    }

    let name: String
    let entries: [Entry]

    var json: JSONValue {
        .array(entries.map { entry in
            .object([
                "acltype": .string(entry.kind), "topic": .string(entry.topic),
                "priority": .integer(0), "allow": .bool(true),
            ])
        })
    }

    static func boardName(_ board: InstallationID) -> String { "board-\(board)" }

    /// A board's: its own outbox, status and data, its own inbox, nothing else but what its
    /// scope grants. Without `data` only the farewell is left.
    init(board: InstallationID, root: TopicRoot, data: Bool, extraTopics: [String]) {
        name = Self.boardName(board)
        let own = "\(root)/\(board)"
        var sends = ["\(own)/outbox", "\(own)/status"]
        if data { sends += ["\(own)/data/#"] + extraTopics }
        entries = sends.map { Entry(kind: "publishClientSend", topic: $0) } + [
            Entry(kind: "publishClientReceive", topic: "\(own)/inbox"),
            Entry(kind: "subscribeLiteral", topic: "\(own)/inbox"),
            Entry(kind: "unsubscribeLiteral", topic: "\(own)/inbox"),
        ]
    }

    /// A person's program: it reads what `filters` match and writes nothing.
    init(person username: String, filters: [String]) {
        name = username
        entries = filters.flatMap { filter in
            ["publishClientReceive", "subscribePattern", "unsubscribePattern"].map {
                Entry(kind: $0, topic: filter)
            }
        }
    }

    /// The authority's own.
    init(authorityUnder root: TopicRoot) {
        name = "authority"
        let shared = "$share/authority/\(root)/+/outbox"
        let control = DynamicSecurity.requestTopic
        entries = [
            Entry(kind: "subscribeLiteral", topic: shared),
            Entry(kind: "subscribeLiteral", topic: "\(root)/+/outbox"),
            Entry(kind: "subscribeLiteral", topic: "\(root)/+/status"),
            Entry(kind: "subscribeLiteral", topic: DynamicSecurity.responseTopic),
            Entry(kind: "publishClientReceive", topic: "\(root)/+/outbox"),
            Entry(kind: "publishClientReceive", topic: "\(root)/+/status"),
            Entry(kind: "publishClientReceive", topic: DynamicSecurity.responseTopic),
            Entry(kind: "publishClientSend", topic: "\(root)/+/inbox"),
            Entry(kind: "publishClientSend", topic: "\(root)/+/status"),
            Entry(kind: "publishClientSend", topic: control),
        ]
    }
}

/// A client at the broker, as the plugin is to hold it.
struct BrokerAccount: Sendable {
    let username: String
    let password: SecretBytes
    /// The one client id that may use it; nil any, for the authority's own alone. Whoever may
    /// use any could take a board's, and the broker would cut off the board for it.
    let clientID: String?
    let role: BrokerRole
    /// Whose client it is, see `mark`; nil for the authority's own, which nobody removes.
    var owner: String?

    /// What marks a client as made by an authority of this topic root. Several may share a
    /// broker, and each leaves alone what is not its own.
    static func mark(_ root: TopicRoot) -> String { "postern \(root)" }

    /// Makes role and client, or brings the role in line where they are there. Run all; only
    /// the errors that `tolerated` lists mean that something was there already.
    var creation: [DynamicSecurity.Command] {
        var client: [String: JSONValue] = [
            "username": .string(username), "password": password.json,
            "roles": .array([.object(["rolename": .string(role.name)])]),
        ]
        client["clientid"] = clientID.map(JSONValue.string)
        client["textdescription"] = owner.map(JSONValue.string)
        return [
            .init(name: "createRole", members: ["rolename": .string(role.name)]),
            adjustment,
            .init(name: "createClient", members: client),
        ]
    }

    /// Gives the role its entries; no connection is cut, and the next packet is judged by it.
    var adjustment: DynamicSecurity.Command {
        .init(
            name: "modifyRole", members: ["rolename": .string(role.name), "acls": role.json])
    }

    var inquiry: DynamicSecurity.Command {
        .init(name: "getClient", members: ["username": .string(username)])
    }

    /// Whether the client in an answer to `inquiry` has our client id and our mark.
    func isBound(in answer: DynamicSecurity.Response?) -> Bool {
        let client = answer?.data?.asObject?["client"]?.asObject
        return client?["clientid"]?.asString == clientID
            && client?["textdescription"]?.asString == owner
    }

    /// Gives a client its client id and mark, and cuts its connection.
    var binding: DynamicSecurity.Command {
        .init(
            name: "modifyClient",
            members: [
                "username": .string(username), "clientid": .string(clientID ?? ""),
                "textdescription": .string(owner ?? ""),
            ])
    }

    /// Cuts the client's connection, without its last will.
    var passwordChange: DynamicSecurity.Command {
        .init(
            name: "setClientPassword",
            members: ["username": .string(username), "password": password.json])
    }

    static func removal(username: String, role: String) -> [DynamicSecurity.Command] {
        [.init(name: "deleteClient", members: ["username": .string(username)]),
         .init(name: "deleteRole", members: ["rolename": .string(role)])]
    }
}

extension SecretBytes {
    /// For a message to the broker's control topic, which is what carries passwords there.
    fileprivate var json: JSONValue { .string(String(decoding: reveal(), as: UTF8.self)) }
}
