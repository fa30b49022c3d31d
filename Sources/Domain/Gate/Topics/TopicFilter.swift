/// A topic filter: 1 to 65535 bytes. `+` and `#` each fill a whole level, and `#` only the last.
///
/// This is the only matcher that decides a permission. The one of libmosquitto stops at NUL and
/// accepts empty topics. Source: MQTT 5.0 §4.7.
package struct TopicFilter: Hashable, Sendable, CustomStringConvertible {
    package let description: String

    /// The longest filter or topic, in bytes of UTF-8. Source: MQTT 5.0 §4.7.3.
    package static let longest = 65_535

    /// The most levels of a topic that a route subscribes or publishes to. Mosquitto disconnects a
    /// client that names a topic with more than 200 slashes.
    static let mostLevels = 128

    /// Parses a filter. Nil if it is empty or too long, contains NUL, or has a misplaced wildcard.
    package init?(_ text: String) {
        guard (1...Self.longest).contains(text.utf8.count), Self.isValid(text.utf8) else {
            return nil
        }
        description = text
    }

    private static func isValid(_ bytes: some Collection<UInt8>) -> Bool {
        var previous = TopicByte.separator
        for byte in bytes {
            switch byte {
            case 0: return false
            case TopicByte.one, TopicByte.many:
                guard previous == TopicByte.separator else { return false }
            case TopicByte.separator:
                guard previous != TopicByte.many else { return false }
            default:
                guard previous != TopicByte.many, previous != TopicByte.one else { return false }
            }
            previous = byte
        }
        return true
    }

    /// Whether the filter begins with `$`, as the server's own topics do.
    package var beginsWithDollar: Bool { description.utf8.first == TopicByte.dollar }

    /// Whether `topic` is valid and matches. One pass; does not allocate.
    package func matches(_ topic: String) -> Bool {
        Self.matches(filter: description.utf8.span, topic: topic.utf8.span)
    }

    /// Whether a topic from the wire is valid and matches. Does not allocate.
    package func matches(bytes: Span<UInt8>) -> Bool {
        Self.matches(filter: description.utf8.span, topic: bytes)
    }

    private static func matches(filter: Span<UInt8>, topic: Span<UInt8>) -> Bool {
        guard !topic.isEmpty, topic.count <= longest else { return false }
        let isWild = filter[0] == TopicByte.one || filter[0] == TopicByte.many
        if topic[0] == TopicByte.dollar, isWild { return false }
        var here = 0
        var there = 0
        while true {
            if here < filter.count, filter[here] == TopicByte.many {
                return isPlain(topic, from: there)
            }
            if here < filter.count, filter[here] == TopicByte.one {
                here += 1
                while there < topic.count, topic[there] != TopicByte.separator {
                    guard TopicByte.isPlain(topic[there]) else { return false }
                    there += 1
                }
            } else {
                while here < filter.count, filter[here] != TopicByte.separator {
                    guard there < topic.count, topic[there] == filter[here] else { return false }
                    here += 1
                    there += 1
                }
                guard there == topic.count || topic[there] == TopicByte.separator else {
                    return false
                }
            }
            if there == topic.count {
                // `sport/#` also matches its parent, `sport`.
                return here == filter.count
                    || here + 2 == filter.count && filter[here + 1] == TopicByte.many
            }
            guard here < filter.count else { return false }
            here += 1
            there += 1
        }
    }

    private static func isPlain(_ topic: Span<UInt8>, from start: Int) -> Bool {
        var index = start
        while index < topic.count {
            guard TopicByte.isPlain(topic[index]) else { return false }
            index += 1
        }
        return true
    }
}
