import AgentCore
import MQTT

/// Mosquitto's counters about its own queue. It drops messages beyond `max_queued_messages`
/// without an error, and counts them here. Another broker, or an ACL that denies `$SYS` to the
/// agent, gives no counters.
///
/// Source: mosquitto(8), Broker Status.
enum BrokerMetrics {
    private static let dropped = "$SYS/broker/publish/messages/dropped"
    private static let stored = "$SYS/broker/store/messages/count"

    static let topics = [dropped, stored]

    /// Nil for any other topic, and for a payload that is not a number.
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
