package import Sessions
package import Wire

/// A pending change at the broker. It is written in the transaction that needs it, so after a crash
/// the next start does it.
///
/// A job names *what* to update, not how: the worker reads the desired state (`DesiredBoard`,
/// `DesiredReader`) when it runs the job. Running a job twice has the same effect as once.
package enum BrokerJob: Equatable, Sendable {
    /// Update the board's client and role; with `password`, also its changed password.
    case login(InstallationID, password: Bool)
    /// Update the retained message on the board's inbox.
    case inbox(InstallationID)
    /// Publish a message for the board, not retained.
    case say(InstallationID, payload: [UInt8], until: Timestamp)
    /// Publish the board's commands that are due.
    case commands(InstallationID)
    /// Update the client and role of a reader. `mayDoLess`: it loses a permission, so an existing
    /// subscription may be too wide.
    case reader(BrokerReader, mayDoLess: Bool)

    /// The queue of the job. Jobs of one queue run in order; different queues run in parallel.
    package var line: String {
        switch self {
        case .login(let board, _), .inbox(let board), .say(let board, _, _), .commands(let board):
            board.description
        case .reader(let reader, _): reader.line
        }
    }
}

/// A stored job with its number in the store.
package struct NumberedJob: Sendable {
    package let number: Int64
    package let job: BrokerJob

    package init(number: Int64, job: BrokerJob) {
        self.number = number
        self.job = job
    }
}

/// The desired state of one board at the broker.
package struct DesiredBoard: Sendable {
    package struct Login: Sendable {
        package let password: SecretBytes
        /// Nil: no data; only inbox, outbox and status are allowed.
        package let extraTopics: [String]?
        /// It is of a prepared claim: its board may only ask to join.
        package let isPrepared: Bool

        package init(
            password: SecretBytes, extraTopics: [String]?, isPrepared: Bool = false
        ) {
            self.password = password
            self.extraTopics = extraTopics
            self.isPrepared = isPrepared
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

    /// Nil: the board must have no client.
    package let login: Login?
    /// Nil: no message is retained.
    package let retained: Retained?
    /// The last known status of the board. When its login goes, `down` is published after it.
    package let status: BoardStatus?
    /// The id is of a prepared claim, which has no status and no data.
    package let isPrepared: Bool

    package init(
        login: Login?, retained: Retained?, status: BoardStatus?, isPrepared: Bool = false
    ) {
        self.isPrepared = isPrepared
        self.login = login
        self.retained = retained
        self.status = status
    }
}
