import Sessions

/// One line written by `mosquitto_sub -F %j` or `-F %J`: a message and its arrival time.
///
/// Source: mosquitto_sub(1), Output format; mosquitto 2.0.11, client/sub_client_output.c.
package struct RecordedMessage: Equatable, Sendable {
    package let topic: String
    /// The time since 1970-01-01 UTC.
    package let time: Duration
    package let isRetained: Bool
    /// The payload's bytes, as far as the line contains them.
    ///
    /// `%j` ends a payload at its first NUL. Here the missing rest is filled with NUL up to the
    /// recorded length. JSON allows no NUL, so the gate refuses it at the same byte as the
    /// original.
    package let payload: [UInt8]
    /// `%J` rewrites JSON: white space, the digits of numbers and escapes can differ from the
    /// original. Spaces fill up the length that the rewriting removed.
    package let isRewritten: Bool

    /// Why a line is not a message. The sentence contains no part of the line.
    package struct Fault: Error, Equatable, Sendable {
        package let sentence: String
    }

    /// Reads a line without its line end. Keeps at most `most` bytes of the payload.
    ///
    /// `isCut` says that the line's end was cut off. Such a line is readable if only the end of the
    /// payload is missing and the length is known.
    package init(
        _ line: [UInt8], isCut: Bool = false, most: Int
    ) throws(Fault) {
        var reader = RecordedLineReader(line)
        let members = try reader.members(isCut: isCut)
        guard let topic = members.topic else { throw Fault(sentence: "topic is missing") }
        guard let time = members.time.flatMap(Self.time) else {
            throw Fault(sentence: "tst is not a time such as 2026-11-21T17:05:15.733904Z+0000")
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

    /// Parses `2026-11-21T17:05:15.733904Z+0000`: local time, then its offset from UTC. `Z` and the
    /// offset may be absent.
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

    /// The offset in seconds, east of UTC positive: `+0530`, `+05:30`, or empty.
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
