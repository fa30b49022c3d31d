package import Gate
package import Sessions

/// The name that a user gives to a consumer: 1 to 64 of `[A-Za-z0-9._-]`, the first a letter or
/// digit. It is unique among the consumers of one user.
package struct ConsumerName: Hashable, Sendable, CustomStringConvertible {
    package let description: String

    package init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard (1...64).contains(bytes.count), let first = bytes.first,
            Self.isAlphanumeric(first),
            bytes.allSatisfy({ Self.isAlphanumeric($0) || "._-".utf8.contains($0) })
        else { return nil }
        description = text
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"): true
        default: false
        }
    }
}

/// A login at the broker for somebody else's program. It reads the data and the status of boards of
/// its user, and publishes nothing.
package struct ConsumerRecord: Sendable {
    package let id: ObjectID
    package let user: UserID
    package let name: ConsumerName
    /// Nil: all boards of the user, also those that the user claims later.
    package let boards: [InstallationID]?
    /// Nil: all classes.
    package let classes: [ClassName]?
    package let createdAt: Timestamp
    /// From this time on it may not log in. Nil: no end.
    package let until: Timestamp?
    package let password: SecretBytes

    package init(
        id: ObjectID, user: UserID, name: ConsumerName, boards: [InstallationID]?,
        classes: [ClassName]?, createdAt: Timestamp, until: Timestamp?, password: SecretBytes
    ) {
        self.id = id
        self.user = user
        self.name = name
        self.boards = boards
        self.classes = classes
        self.createdAt = createdAt
        self.until = until
        self.password = password
    }

    var reader: BrokerReader { .consumer(id) }

    func hasEnded(at now: Timestamp) -> Bool { until.map { $0 <= now } ?? false }

    func mayRead(_ board: InstallationID) -> Bool { boards?.contains(board) ?? true }
}

package protocol ConsumerTable {
    func consumer(_ id: ObjectID) throws(AuthorityError) -> ConsumerRecord?
    /// Sorted by name.
    func consumers(of user: UserID) throws(AuthorityError) -> [ConsumerRecord]
    /// The ids of all consumers.
    func everyConsumer() throws(AuthorityError) -> [ObjectID]
    /// Consumers whose `until` is not later than `time`; at most `limit`.
    func consumers(endedBy time: Timestamp, limit: Int) throws(AuthorityError) -> [ConsumerRecord]
    /// Returns false if the user has a consumer with this name.
    func insert(_ consumer: ConsumerRecord) throws(AuthorityError) -> Bool
    func setBoards(_ boards: [InstallationID], of consumer: ObjectID) throws(AuthorityError)
    /// Returns false if there was none.
    func deleteConsumer(_ id: ObjectID) throws(AuthorityError) -> Bool
}

/// The largest numbers that a person may ask for.
package enum ConsumerLimit {
    package static let ofUser = 32
    package static let boards = 200
    package static let classes = 20
    /// The topics that one consumer reads. Its role must fit into one message to the broker.
    package static let topics = 2000
    /// The latest end, from now.
    package static let life = Duration.seconds(10 * 366 * 86_400)
}

/// A request for a consumer.
package struct ConsumerOrder: Sendable {
    package enum End: Sendable {
        case at(Timestamp)
        /// By the authority's clock.
        case after(Duration)
    }

    package let name: ConsumerName
    /// Nil: all boards of the caller.
    package let boards: [InstallationID]?
    /// Nil: all classes.
    package let classes: [ClassName]?
    /// Nil: no end.
    package let end: End?

    package init(
        name: ConsumerName, boards: [InstallationID]? = nil, classes: [ClassName]? = nil,
        end: End? = nil
    ) {
        self.name = name
        self.boards = boards
        self.classes = classes
        self.end = end
    }
}

/// A consumer as its user sees it, without its password.
package struct Consumer: Sendable {
    package let name: ConsumerName
    package let clientID: String
    package let boards: [InstallationID]?
    package let classes: [ClassName]?
    package let createdAt: Timestamp
    package let until: Timestamp?
    /// Boards of the user that it cannot read, because it would need too many topics.
    package let boardsLeftOut: Int
    /// Nil if the broker does not tell.
    package let isConnected: Bool?

    package init(
        name: ConsumerName, clientID: String, boards: [InstallationID]?, classes: [ClassName]?,
        createdAt: Timestamp, until: Timestamp?, boardsLeftOut: Int, isConnected: Bool? = nil
    ) {
        self.name = name
        self.clientID = clientID
        self.boards = boards
        self.classes = classes
        self.createdAt = createdAt
        self.until = until
        self.boardsLeftOut = boardsLeftOut
        self.isConnected = isConnected
    }
}

/// A consumer that was just made. Only this holds its password.
package struct NewConsumer: Sendable {
    package let consumer: Consumer
    package let login: BrokerLogin

    package init(consumer: Consumer, login: BrokerLogin) {
        self.consumer = consumer
        self.login = login
    }
}
