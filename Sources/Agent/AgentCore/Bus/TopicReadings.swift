import Gate
import Wire

/// What a topic of the bus stands for, whatever is written on it.
struct ReadTopic: Sendable {
    let reading: TopicReading
    /// Whether it is a request to the agent, and no route's topic.
    let isRequest: Bool
    /// Where a write on it goes upstream; nil where none does.
    let upstream: String?
}

/// What the last topics were read as. A board's programs write on a few topics again and again,
/// and reading one costs more than judging what was written on it.
///
/// It depends on the routes and on nothing else that changes: forget it with them.
struct TopicReadings: Sendable {
    /// Beyond these all are forgotten: a program that invents topics costs some time, no memory.
    static let limit = 256
    static let longest = 256

    private var known: [String: ReadTopic] = [:]
    private var last: (topic: String, read: ReadTopic)?

    mutating func forget() {
        known.removeAll()
        last = nil
    }

    /// What a topic was read as; nil where it was not lately.
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
