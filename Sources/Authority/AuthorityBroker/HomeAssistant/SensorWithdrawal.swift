package import AuthorityCore
import MQTT
package import Sessions
package import Wire

/// Removes discovery messages of Home Assistant from the broker.
package struct SensorWithdrawal: Sendable {
    private let authority: Authority
    private let link: BrokerLink
    private let prefix: TopicRoot

    package init(authority: Authority, link: BrokerLink, prefix: TopicRoot) {
        (self.authority, self.link, self.prefix) = (authority, link, prefix)
    }

    /// Removes the messages of released boards, or of all boards. Safe to repeat: a sensor is
    /// forgotten after its message is removed.
    package func run(released: Bool) async throws(AuthorityError) {
        while true {
            let found = try await authority.announcedSensors(released: released, limit: 50)
            if found.isEmpty { return }
            for (board, ids) in found {
                try await remove(ids, of: board)
                // Another authority works on this board, and its next round sees the change.
                guard try await authority.forgetSensors(ids, of: board) else { return }
            }
        }
    }

    package func remove(
        _ ids: [SensorID], of board: InstallationID
    ) async throws(AuthorityError) {
        for id in ids { try await publish([], id, of: board) }
    }

    package func publish(
        _ payload: [UInt8], _ id: SensorID, of board: InstallationID
    ) async throws(AuthorityError) {
        try await link.publish(OutgoingMessage(
            topic: BoardSensor.topic(id, of: board, below: prefix), payload: payload,
            retain: true))
    }
}
