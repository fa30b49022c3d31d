import Sessions

/// One line of what `mosquitto_sub -F %j` or `-F %J` writes: a message, and when it came.
///
/// Source: mosquitto_sub(1), Output format; mosquitto 2.0.11, client/sub_client_output.c.
package struct RecordedMessage: Equatable, Sendable {
    package let topic: String
    /// Since 1970-01-01 UTC.
    package let time: Duration
    package let isRetained: Bool
    /// The payload's bytes, as far as the line has them.
    ///
    /// `%j` ends a payload at its first NUL; the rest is NUL here, up to the recorded length.
    /// JSON holds no NUL, so it is refused at the same byte as the payload that was sent.
    package let payload: [UInt8]
    /// `%J` writes JSON anew: its white space, its numbers' digits and its escapes are not
    /// those that were sent. Spaces stand here for what that has shortened.
    package let isRewritten: Bool

    /// Why a line is no message. The sentence holds nothing of the line.
    package struct Fault: Error, Equatable, Sendable {
        package let sentence: String
    }

    /// Reads a line without its end. Of a payload no more than `most` bytes are kept.
    ///
    /// A line whose end `isCut` off is read if nothing but the payload's end is missing and the
    /// length is known.
    package init(
        _ line: [UInt8], isCut: Bool = false, most: Int
    ) throws(Fault) {
        var reader = RecordedLineReader(line)
        let members = try reader.members(isCut: isCut)
        guard let topic = members.topic else { throw Fault(sentence: "topic is missing") }
        guard let time = members.time.flatMap(Self.time) else {
            throw Fault(sentence: "tst is no time such as 2026-11-21T17:05:15.733904Z+0000")
        }
        guard let value = members.payload?.unlessAbsent(members.payloadLength) else {
            throw Fault(sentence: "payload is missing")
        }
        var payload = value.bytes
        if let length = members.payloadLength {
            guard length >= payload.count || value.isRewritten else {
                throw Fault(sentence: "the payload is longer than its payloadlen")
            }
            let missing = min(length, most) - payload.count
            if missing > 0 {
                payload += [UInt8](repeating: value.isRewritten ? 0x20 : 0, count: missing)
            }
        } else if isCut {
            throw Fault(sentence: "the line is too long, and has no payloadlen")
        }
        if payload.count > most { payload.removeSubrange(most...) }
        self.topic = topic
        self.time = time
        isRetained = members.isRetained
        self.payload = payload
        isRewritten = value.isRewritten
    }

    /// `2026-11-21T17:05:15.733904Z+0000`: local time, then its distance from UTC; `Z` and the
    /// distance may be absent.
    static func time(_ text: String) -> Duration? {
        let bytes = Array(text.utf8)
        guard bytes.count >= 26, bytes[23..<26].allSatisfy({ (0x30...0x39).contains($0) }),
            let start = ParseDate.parse(String(decoding: bytes[..<23], as: UTF8.self) + "Z")
        else { return nil }
        let micros = bytes[23..<26].reduce(0) { $0 * 10 + Int64($1) - 48 }
        var rest = bytes[26...]
        if rest.first == UInt8(ascii: "Z") { rest = rest.dropFirst() }
        guard let offset = offset(rest) else { return nil }
        return .milliseconds(start.milliseconds) + .microseconds(micros) - .seconds(offset)
    }

    /// Seconds east of UTC: `+0530`, `+05:30`, or nothing.
    private static func offset(_ text: ArraySlice<UInt8>) -> Int64? {
        guard let sign = text.first else { return 0 }
        var digits = Array(text.dropFirst())
        if digits.count == 5, digits[2] == UInt8(ascii: ":") { digits.remove(at: 2) }
        guard sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-"), digits.count == 4,
            digits.allSatisfy({ (0x30...0x39).contains($0) })
        else { return nil }
        let numbers = digits.map { Int64($0) - 48 }
        let minutes = (numbers[0] * 10 + numbers[1]) * 60 + numbers[2] * 10 + numbers[3]
        return (sign == UInt8(ascii: "-") ? -60 : 60) * minutes
    }
}
