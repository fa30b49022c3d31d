import AgentCore
import MQTT

/// What mosquitto tells of its own queue: it drops silently past `max_queued_messages`, and
/// counts that here. Another broker, or one whose ACL keeps `$SYS` from the agent, tells nothing.
///
/// Source: mosquitto(8), Broker Status.
enum BrokerFigures {
    private static let dropped = "$SYS/broker/publish/messages/dropped"
    private static let stored = "$SYS/broker/store/messages/count"

    static let topics = [dropped, stored]

    /// Nil for any other topic, and for what is no number.
    static func event(of message: IncomingMessage) -> AgentEvent? {
        guard let number = number(message.payload) else { return nil }
        return switch message.topic {
        case dropped: .busBroker(dropped: number, stored: nil)
        case stored: .busBroker(dropped: nil, stored: number)
        default: nil
        }
    }

    /// 1 to 18 decimal digits.
    static func number(_ payload: [UInt8]) -> Int64? {
        guard (1...18).contains(payload.count),
            payload.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
        else { return nil }
        return payload.reduce(0) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) }
    }
}
