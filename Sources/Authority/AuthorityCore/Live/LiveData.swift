package import Sessions

/// The data that boards sent lately: the counts of the last hour, and the newest value of each
/// field, however old. Its size is limited, whatever they send. It is a value: no clock, no lock,
/// no store.
package struct LiveData: Sendable {
    /// The maximum number of boards. Beyond it, the boards that were silent longest are deleted.
    private let limit: Int
    /// The maximum number of fields of all boards together; about 1 KiB each at most.
    private let fieldLimit: Int
    private var boards: [InstallationID: LiveBoardData] = [:]
    private var uses: UInt64 = 0
    private var fields = 0
    /// Whether this process subscribes to all data of all boards.
    private var isListening = false

    package init(limit: Int = 10_000, fieldLimit: Int = 100_000) {
        self.limit = max(limit, 1)
        self.fieldLimit = fieldLimit
    }

    /// Counts a message without reading it.
    package mutating func count(
        _ board: InstallationID, number: Int64? = nil, at now: Timestamp
    ) {
        change(board) { $0.count(number, at: now) }
    }

    /// Counts a message, and keeps the parts that can be shown.
    package mutating func take(_ reading: Reading) {
        change(reading.board) { data in
            data.count(reading.sequence, at: reading.at)
            data.keep(reading)
        }
    }

    /// Notes the queue length and the count of refused writes since the board's start, from its
    /// status.
    package mutating func note(
        queue: Int64?, refused: Int64?, of board: InstallationID, at now: Timestamp
    ) {
        guard queue != nil || refused != nil else { return }
        change(board) { $0.note(queue: queue, refused: refused, at: now) }
    }

    /// Notes the highest number that the broker has acknowledged to a board, from its heartbeat.
    package mutating func note(
        forwarded number: Int64, of board: InstallationID, at now: Timestamp
    ) {
        if isListening { change(board) { $0.arrival.told(number, at: now) } }
    }

    /// Starts or stops listening for data. All arrival counts restart, because data in between is
    /// unknown.
    package mutating func listen(_ isListening: Bool) {
        self.isListening = isListening
        for board in Array(boards.keys) { boards[board]?.arrival = ArrivalCount() }
    }

    package func lastData(of board: InstallationID) -> Timestamp? { boards[board]?.lastData }

    package mutating func forget(_ board: InstallationID, before time: Timestamp) {
        guard let data = boards[board], data.began.map({ $0 < time }) ?? false else { return }
        fields -= data.fieldCount
        boards[board] = nil
    }

    /// The live data of a board. An unknown board has sent nothing.
    package func live(of board: InstallationID, at now: Timestamp) -> BoardLive {
        (boards[board] ?? LiveBoardData()).view(at: now)
    }

    package func minutes(of board: InstallationID, at now: Timestamp) -> MinuteCounts {
        (boards[board] ?? LiveBoardData()).minutes(at: now)
    }

    package func arrival(of board: InstallationID, at now: Timestamp) -> Arrival? {
        boards[board]?.arrival.view(at: now)
    }

    package func runningMinute(
        of board: InstallationID, at now: Timestamp
    ) -> RunningMinute {
        (boards[board] ?? LiveBoardData()).running(board, at: now)
    }

    var count: Int { boards.count }

    private mutating func change(
        _ board: InstallationID, _ body: (inout LiveBoardData) -> Void
    ) {
        uses &+= 1
        // Removed from the dictionary first, so that it is changed in place and not copied.
        var data = boards.removeValue(forKey: board) ?? LiveBoardData()
        fields -= data.fieldCount
        body(&data)
        data.lastUse = uses
        fields += data.fieldCount
        boards[board] = data
        if boards.count > limit || fields > fieldLimit { forget() }
    }

    /// Deletes a sixteenth of the boards at once, so that many new boards do not cause one sort
    /// each.
    private mutating func forget() {
        let count = max(boards.count / 16, 1)
        let oldest = boards.sorted { $0.value.lastUse < $1.value.lastUse }.prefix(count)
        for (board, data) in oldest where boards.count > 1 {
            fields -= data.fieldCount
            boards[board] = nil
        }
    }
}
