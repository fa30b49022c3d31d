package import Gate
package import Sessions

// What people are shown of the data that boards send just now. It is in memory only.

/// One hour by minutes; the last minute is the running one.
package struct MinuteCounts: Equatable, Sendable {
    package static let count = 60

    /// When the first minute began.
    package let start: Timestamp
    package let messages: [Int]
    /// Nil before the board has told any.
    package let refused: [Int?]
    package let queue: [Int?]

    package init(start: Timestamp, messages: [Int], refused: [Int?], queue: [Int?]) {
        self.start = start
        self.messages = messages
        self.refused = refused
        self.queue = queue
    }
}

/// The running minute of a board.
package struct RunningMinute: Equatable, Sendable {
    package let board: InstallationID
    package let start: Timestamp
    package let messages: Int
    package let refused: Int?
    package let queue: Int?
    /// Nil where it cannot be told.
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

package struct BoardLive: Equatable, Sendable {
    /// When data came last, by our own clock.
    package let lastData: Timestamp?
    package let minutes: MinuteCounts
    package let series: [NumberSeries]
    /// The newest first.
    package let texts: [LiveText]
    /// Nil where it cannot be told.
    package let arrival: Arrival?

    package init(
        lastData: Timestamp?, minutes: MinuteCounts, series: [NumberSeries], texts: [LiveText],
        arrival: Arrival? = nil
    ) {
        self.lastData = lastData
        self.minutes = minutes
        self.series = series
        self.texts = texts
        self.arrival = arrival
    }
}

/// A number of one class as it came, the oldest first.
package struct NumberSeries: Equatable, Sendable {
    package struct Point: Equatable, Sendable {
        package let at: Timestamp
        package let value: Double
    }

    package let className: ClassName
    package let record: RecordID?
    /// The path to it, such as `celsius` or `at.lat`.
    package let field: String
    package let points: [Point]
}

/// What came and is no number.
package struct LiveText: Equatable, Sendable {
    package let className: ClassName
    package let operation: Operation
    package let record: RecordID?
    package let at: Timestamp
    package let text: String
}

/// One message of a board, as far as it was read.
package struct Reading: Equatable, Sendable {
    package let board: InstallationID
    package let className: ClassName
    package let operation: Operation
    package let record: RecordID?
    package let at: Timestamp
    /// The board's own number of the message, where the broker carried it.
    package let sequence: Int64?
    package let values: [String: Double]
    /// Nil where there are values.
    package let text: String?

    package init(
        board: InstallationID, className: ClassName, operation: Operation, record: RecordID?,
        at: Timestamp, sequence: Int64?, values: [String: Double], text: String?
    ) {
        self.board = board
        self.className = className
        self.operation = operation
        self.record = record
        self.at = at
        self.sequence = sequence
        self.values = values
        self.text = text
    }
}
