import Gate
import Wire

/// The meaning of a bus topic, independent of the payload.
struct ReadTopic: Sendable {
    let reading: TopicReading
    /// Whether the topic is a request to the agent, not a route's topic.
    let isRequest: Bool
    /// The upstream topic of a write. Nil if this is not a write.
    let upstream: String?
}

/// A cache of parsed topics. A board's programs use a few topics again and again, and parsing a
/// topic costs more than judging its payload.
///
/// The entries depend only on the routes: clear the cache when the routes change.
struct TopicReadings: Sendable {
    /// A full cache is cleared. A program that invents topics costs some time, but no memory.
    static let limit = 256
    static let longest = 256

    private var known: [String: ReadTopic] = [:]
    private var last: (topic: String, read: ReadTopic)?

    mutating func forget() {
        known.removeAll()
        last = nil
    }

    /// The cached reading of a topic. Nil: not cached.
    mutating func find(_ topic: String) -> ReadTopic? {
        if let last, last.topic == topic { return last.read }
        guard let found = known[topic] else { return nil }
        last = (topic, found)
        return found
    }

    mutating func remember(_ read: ReadTopic, of topic: String) {
        guard topic.utf8.count <= Self.longest else { return }
        if known.count >= Self.limit { known.removeAll(keepingCapacity: true) }
        known[topic] = read
        last = (topic, read)
    }
}
