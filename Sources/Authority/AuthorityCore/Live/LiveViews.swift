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
    package let minutes: MinuteCounts
    package let series: [NumberSeries]
    /// The newest first.
    package let texts: [LiveText]
    /// Nil if the numbers cannot be compared.
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

/// The values of one numeric field of a class, the oldest first.
package struct NumberSeries: Equatable, Sendable {
    package struct Point: Equatable, Sendable {
        package let at: Timestamp
        package let value: Double
    }

    package let className: ClassName
    package let record: RecordID?
    /// The path of the field, such as `celsius` or `at.lat`.
    package let field: String
    package let points: [Point]
}

/// A payload, or a part of it, that is no number.
package struct LiveText: Equatable, Sendable {
    package let className: ClassName
    package let operation: Operation
    package let record: RecordID?
    package let at: Timestamp
    package let text: String
}

/// The readable part of one message of a board.
package struct Reading: Equatable, Sendable {
    package let board: InstallationID
    package let className: ClassName
    package let operation: Operation
    package let record: RecordID?
    package let at: Timestamp
    /// The board's sequence number of the message, if the broker carried it.
    package let sequence: Int64?
    package let values: [String: Double]
    /// The content that is no number, as a text. Nil if there is none.
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
