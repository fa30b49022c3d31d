import Sessions
import Wire

/// A user as the authority lists it.
struct UserRow: Sendable {
    let objectID: UserID
    let username: String
    let isAdministrator: Bool
    let mayClaim: Bool
    let createdAt: Timestamp
    let isEnabled: Bool

    init(json: JSONObject) throws(WireError) {
        objectID = try json.parsed("objectId", UserID.init)
        username = try json.string("username")
        isAdministrator = try json.required("isAdministrator") { $0.asBool }
        mayClaim = try json.required("mayClaim") { $0.asBool }
        createdAt = try json.parsed("createdAt", ParseDate.parse)
        isEnabled = try json.optional("enabled") { $0.asBool } ?? true
    }

    var members: [String: JSONValue] {
        [
            "objectId": .string(objectID.description), "username": .string(username),
            "isAdministrator": .bool(isAdministrator), "mayClaim": .bool(mayClaim),
            "createdAt": .time(createdAt), "enabled": .bool(isEnabled),
        ]
    }

    var rights: String {
        [isAdministrator ? "administrator" : nil, mayClaim ? "may claim" : nil]
            .compactMap { $0 }.joined(separator: ", ")
    }
}
