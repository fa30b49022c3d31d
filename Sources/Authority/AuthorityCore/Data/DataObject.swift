package import Gate
package import Sessions

/// An object of a Parse class, as the writes of a board made it. A `create` makes one. An `update`
/// or `delete` changes the object of its class and owner that it names, whichever of the owner's
/// boards made it. An `update` of an object that does not exist makes it.
package struct DataObject: Equatable, Sendable {
    package let className: ClassName
    package let id: RecordID
    /// The board that wrote it last.
    package let board: InstallationID
    package let app: AppName
    package let createdAt: Timestamp
    package let updatedAt: Timestamp
    /// When the authority received the last write.
    package let receivedAt: Timestamp
    /// The members of the payload. A payload that is no JSON object is the member `value`: its
    /// JSON value, or its text, or its bytes as Parse's `Bytes`.
    package let members: [String: JSONValue]

    package init(
        className: ClassName, id: RecordID, board: InstallationID, app: AppName,
        createdAt: Timestamp, updatedAt: Timestamp, receivedAt: Timestamp,
        members: [String: JSONValue]
    ) {
        (self.className, self.id, self.board, self.app) = (className, id, board, app)
        (self.createdAt, self.updatedAt) = (createdAt, updatedAt)
        (self.receivedAt, self.members) = (receivedAt, members)
    }
}

extension RecordID {
    /// The id of the object that a `create` made: `<iid>-<seq>`.
    package init?(created board: InstallationID, sequence: Int64) {
        self.init("\(board)-\(sequence)")
    }

    /// The record that made the object; nil if an app chose the id.
    package var creation: (board: InstallationID, sequence: Int64)? {
        guard let cut = description.lastIndex(of: "-"),
            let board = InstallationID(String(description[..<cut])),
            let sequence = Int64(description[description.index(after: cut)...]), sequence > 0,
            // Printing and parsing are inverses: no zeros or signs in front, no upper case.
            RecordID(created: board, sequence: sequence) == self
        else { return nil }
        return (board, sequence)
    }
}
