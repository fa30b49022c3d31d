extension StringProtocol {
    /// The levels of a topic or filter, empty ones included.
    ///
    /// Splits at each byte `/`, even if a combining mark follows it. Source: MQTT 5.0 §4.7.1.1,
    /// §4.7.3.
    package var topicLevels: [Substring] {
        Substring(self).utf8
            .split(separator: TopicByte.separator, omittingEmptySubsequences: false)
            .map { Substring($0) }
    }
}

/// The bytes with a special meaning in topics.
enum TopicByte {
    static let separator = UInt8(ascii: "/")
    static let one = UInt8(ascii: "+")
    static let many = UInt8(ascii: "#")
    static let dollar = UInt8(ascii: "$")

    /// Whether a topic may contain the byte: all but NUL and wildcards. Source: MQTT 5.0 §4.7.3.
    static func isPlain(_ byte: UInt8) -> Bool { byte != 0 && byte != one && byte != many }
}
