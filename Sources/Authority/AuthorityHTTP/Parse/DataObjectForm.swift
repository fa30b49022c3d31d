import AuthorityCore
import Gate
import Sessions
import Wire

extension DataObject {
    /// The members that the authority makes. A member of the payload with one of these names is
    /// not shown here, and neither is one that begins with `_`.
    static let made: Set<String> = [
        "objectId", "createdAt", "updatedAt", "receivedAt", "installationId", "app", "ACL",
        "className",
    ]

    /// The object as Parse's REST API has it. Its user alone may read it.
    func parseForm(of owner: UserID) -> [String: JSONValue] {
        var form = members.filter { name, _ in !name.hasPrefix("_") && !Self.made.contains(name) }
        form["objectId"] = .string(id.description)
        form["createdAt"] = .string(ParseDate.print(createdAt))
        form["updatedAt"] = .string(ParseDate.print(updatedAt))
        form["receivedAt"] = .parseDate(receivedAt)
        form["installationId"] = .string(board.description)
        form["app"] = .string(app.description)
        form["ACL"] = .object([owner.description: .object(["read": .bool(true)])])
        return form
    }
}
