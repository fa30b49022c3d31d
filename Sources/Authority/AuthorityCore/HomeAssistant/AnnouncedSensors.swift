import Gate
package import Sessions
import Wire

/// The sensors that the broker may have discovery messages of. A sensor is noted before its message
/// is published, and forgotten after its message is removed.
package protocol SensorTable {
    /// Sorted.
    func sensors(of board: InstallationID) throws(AuthorityError) -> [SensorID]
    /// An empty list deletes the board's row.
    func setSensors(_ sensors: [SensorID], of board: InstallationID) throws(AuthorityError)
    /// The number of sensors of all boards.
    func sensorCount() throws(AuthorityError) -> Int
    /// At most `limit` boards that have sensors. `released`: only boards that were released.
    func boardsWithSensors(
        released: Bool, limit: Int
    ) throws(AuthorityError) -> [InstallationID]
}

extension Authority {
    /// The boards that were not released, sorted by name, starting after `last`.
    package func announcedBoards(
        after last: BoardRecord?, limit: Int
    ) async throws(AuthorityError) -> [AnnouncedBoard] {
        try await store.read { transaction throws(AuthorityError) in
            var boards: [AnnouncedBoard] = []
            for record in try transaction.boards(of: nil, after: last, limit: limit) {
                let told = try transaction.report(of: record.installation)
                boards.append(AnnouncedBoard(
                    record: record, units: told?.report.units.byClass ?? [:],
                    announced: try transaction.sensors(of: record.installation)))
            }
            return boards
        }
    }

    package func announcedSensorCount() async throws(AuthorityError) -> Int {
        try await store.glance { transaction throws(AuthorityError) in
            try transaction.sensorCount()
        }
    }

    /// Notes the sensors of a board. Returns false and notes nothing if the board was released, or
    /// claimed again, after `board` was read.
    package func noteSensors(
        _ ids: [SensorID], of board: BoardRecord
    ) async throws(AuthorityError) -> Bool {
        try await store.transact { transaction throws(AuthorityError) in
            guard let now = try transaction.board(board.installation), !now.released,
                now.owner == board.owner, now.ownedSince == board.ownedSince
            else { return false }
            if try transaction.sensors(of: board.installation) != ids {
                try transaction.setSensors(ids, of: board.installation)
            }
            return true
        }
    }

    /// At most `limit` boards with their sensors. `released`: only boards that were released.
    package func announcedSensors(
        released: Bool, limit: Int
    ) async throws(AuthorityError) -> [(board: InstallationID, ids: [SensorID])] {
        try await store.read { transaction throws(AuthorityError) in
            var found: [(board: InstallationID, ids: [SensorID])] = []
            for board in try transaction.boardsWithSensors(released: released, limit: limit) {
                found.append((board, try transaction.sensors(of: board)))
            }
            return found
        }
    }

    /// Forgets the sensors of a board. Returns false and forgets nothing if it has others than
    /// `ids` by now.
    package func forgetSensors(
        _ ids: [SensorID], of board: InstallationID
    ) async throws(AuthorityError) -> Bool {
        try await store.transact { transaction throws(AuthorityError) in
            guard try transaction.sensors(of: board) == ids else { return false }
            try transaction.setSensors([], of: board)
            return true
        }
    }
}

extension AuthorityRules {
    /// Whether a scope may grant a board this filter. Only the authority announces sensors.
    func mayGrant(_ filter: String) -> Bool {
        guard info.topicRoot.mayGrant(filter), let granted = TopicFilter(filter) else {
            return false
        }
        guard let discovery,
            let sensors = TopicFilter(BoardSensor.topics(of: nil, below: discovery))
        else { return true }
        return !granted.overlaps(sensors)
    }
}
