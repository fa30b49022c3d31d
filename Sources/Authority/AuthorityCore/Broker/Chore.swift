package import Sessions
package import Wire

/// Something that the broker still has to be told, written in the transaction that made it
/// necessary: a crash between the two repairs itself at the next start.
///
/// Chores say *what* to bring in line, not how: whoever performs one asks the store for the
/// `BoardWish` of that moment. Doing one twice is the same as doing it once.
package enum Chore: Equatable, Sendable {
    /// The board's client and role; with a password where that has changed too.
    case login(InstallationID, password: Bool)
    /// The retained message on the board's inbox.
    case inbox(InstallationID)
    /// A message for the board that is not to be retained.
    case say(InstallationID, payload: [UInt8], until: Timestamp)
    /// The client and role of a person's program; with `mayDoLess` where something is taken
    /// from it that it may have subscribed.
    case person(ObjectID, mayDoLess: Bool)

    /// Chores of one line are done in their order; those of different lines side by side.
    package var line: String {
        switch self {
        case .login(let board, _), .inbox(let board), .say(let board, _, _): board.description
        case .person(let session, _): session.description
        }
    }
}

package struct NumberedChore: Sendable {
    package let number: Int64
    package let chore: Chore

    package init(number: Int64, chore: Chore) {
        self.number = number
        self.chore = chore
    }
}

/// What the broker should hold for one board.
package struct BoardWish: Sendable {
    package struct Login: Sendable {
        package let password: SecretBytes
        /// Nil: data is closed, and only inbox, outbox and status are left.
        package let extraTopics: [String]?

        package init(password: SecretBytes, extraTopics: [String]?) {
            self.password = password
            self.extraTopics = extraTopics
        }

        package var mayPublishData: Bool { extraTopics != nil }
    }

    package struct Retained: Equatable, Sendable {
        package let payload: [UInt8]
        package let until: Timestamp

        package init(payload: [UInt8], until: Timestamp) {
            self.payload = payload
            self.until = until
        }
    }

    /// Nil: no client of this board may exist.
    package let login: Login?
    /// Nil: nothing is retained.
    package let retained: Retained?
    /// What the board was last heard to be; to be followed by `down` when its login goes.
    package let status: BoardStatus?

    package init(login: Login?, retained: Retained?, status: BoardStatus?) {
        self.login = login
        self.retained = retained
        self.status = status
    }
}

/// What the broker should hold for a person's program; nil where it holds nothing.
package struct PersonWish: Sendable {
    package let username: String
    package let password: SecretBytes
    package let filters: [String]

    package init(username: String, password: SecretBytes, filters: [String]) {
        self.username = username
        self.password = password
        self.filters = filters
    }
}
