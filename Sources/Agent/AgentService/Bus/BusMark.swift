import AgentCore
import MQTT

/// The mark of the agent's own messages to apps. The reader's subscription brings them back.
enum BusMark {
    static let property = UserProperty(BusPublication.mark.name, BusPublication.mark.value)
}
