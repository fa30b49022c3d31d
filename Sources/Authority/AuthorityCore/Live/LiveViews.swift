package import Gate
package import Sessions

// The types for the data that boards send at present. The data is only in memory.

/// One hour in minutes; the last minute is the present one.
package struct MinuteCounts: Equatable, Sendable {
    package static let count = 60

    /// When the first minute began.
    package let start: Timestamp
    package let messages: [Int]
    /// Nil before the board has reported a count.
    package let refused: [Int?]
    package let queue: [Int?]

    package init(start: Timestamp, messages: [Int], refused: [Int?], queue: [Int?]) {
        self.start = start
        self.messages = messages
        self.refused = refused
        self.queue = queue
    }
}

/// The present minute of a board.
package struct RunningMinute: Equatable, Sendable {
    package let board: InstallationID
    package let start: Timestamp
    package let messages: Int
    package let refused: Int?
    package let queue: Int?
    /// Nil if the numbers cannot be compared.
    package let arrival: Arrival?

    package init(
        board: InstallationID, start: Timestamp, messages: Int, refused: Int?, queue: Int?,
        arrival: Arrival? = nil
    ) {
        self.board = board
        self.start = start
        self.messages = messages
        self.refused = refused
        self.queue = queue
        self.arrival = arrival
    }
}

/// The live data of one board.
package struct BoardLive: Equatable, Sendable {
    /// When the last data came, by the authority's clock.
    package let lastData: Timestamp?
    /// Nil if the person may not see how much the board sends.
    package let minutes: MinuteCounts?
    /// The newest value of each field, the newest first.
    package let newest: [NewestValue]
    /// Nil if the numbers cannot be compared.
    package let arrival: Arrival?

    package init(
        lastData: Timestamp?, minutes: MinuteCounts?, newest: [NewestValue],
        arrival: Arrival? = nil
    ) {
        self.lastData = lastData
        self.minutes = minutes
        self.newest = newest
        self.arrival = arrival
    }
}

/// The readable part of one message of a board.
package struct Reading: Equatable, Sendable {
    package let board: InstallationID
    package let className: ClassName
    package let operation: Operation
    package let record: RecordID?
    /// When it came.
    package let at: Timestamp
    /// When the board accepted it.
    package let writtenAt: Timestamp
    /// The board's sequence number of the message, if the broker carried it.
    package let sequence: Int64?
    package let values: [String: Double]
    package let texts: [String: String]
    /// The content that is no number, as a text. Nil if there is none.
    package let text: String?

    package init(
        board: InstallationID, className: ClassName, operation: Operation, record: RecordID?,
        at: Timestamp, writtenAt: Timestamp, sequence: Int64?, values: [String: Double],
        texts: [String: String], text: String?
    ) {
        self.board = board
        self.className = className
        self.operation = operation
        self.record = record
        self.at = at
        self.writtenAt = writtenAt
        self.sequence = sequence
        self.values = values
        self.texts = texts
        self.text = text
    }
}
