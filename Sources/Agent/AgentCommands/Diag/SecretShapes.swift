import Sessions
import Wire

/// Finds secrets by their shape, and by the name before them.
extension SecretCut {
    mutating func cut(line: Substring) -> String {
        if line.hasPrefix("{"), let json = try? JSONValue(parsing: Array(line.utf8)) {
            return cut(json).text
        }
        return cutNamed(cutShapes(String(line)), isProse: true)
    }

    /// Cuts each text in JSON, and each value under a secret's name. The result is JSON.
    mutating func cut(_ json: JSONValue, under name: String = "") -> JSONValue {
        switch json {
        case .string(let text):
            guard Self.isSecret(name), !text.isEmpty else {
                return .string(cutNamed(cutShapes(text), isProse: false))
            }
            note("named secret")
            return .string(Self.mark)
        case .array(let values): return .array(values.map { cut($0, under: name) })
        case .object(let members):
            var result: [String: JSONValue] = [:]
            for (name, value) in members { result[name] = cut(value, under: name) }
            return .object(result)
        case .null, .bool, .integer, .number: return json
        }
    }

    private mutating func cutShapes(_ line: String) -> String {
        var text = line
        if text.contains("://") {
            text = cut(text, /:\/\/[^\/\s@"']*:([^\/\s@"']+)@/, "URI password")
        }
        if text.contains("c=") {
            text = cut(text, /[#&?]c=([A-Za-z0-9_-]+)/, "claim secret")
        }
        if text.contains("%23") || text.contains("%26") {
            text = cut(text, /%2[36]c(?:=|%3[Dd])([A-Za-z0-9_%-]+)/, "claim secret")
        }
        if text.contains("/broker/") {
            text = cut(text, /\/broker\/(?:rabbitmq|mosquitto)\/([^\/\s]+)/, "broker secret")
        }
        if text.contains(" -P ") {
            text = cut(text, /\s-P\s+(\S+)/, "argument password")
        }
        if text.contains("r:") || text.contains("rt:") {
            text = cut(text, /\b(rt?:[A-Za-z0-9_-]{16,})/, "token")
        }
        if text.contains("eyJ") {
            text = cut(text, /(eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)*)/, "token")
        }
        return cutRuns(text)
    }

    /// Replaces the match of the expression's one group.
    private mutating func cut(
        _ text: String, _ expression: Regex<(Substring, Substring)>, _ what: String
    ) -> String {
        var result = ""
        var rest = text[...]
        while let match = rest.firstMatch(of: expression) {
            note(what)
            result += rest[..<match.1.startIndex] + Self.mark
            rest = rest[match.1.endIndex...]
        }
        return result + rest
    }

    /// Cuts runs of hex or base64 that are as long as a key and as mixed as random bytes.
    private mutating func cutRuns(_ text: String) -> String {
        guard text.utf8.count >= Self.shortestRun else { return text }
        var result: [UInt8] = []
        var run: [UInt8] = []
        for byte in text.utf8 {
            if Self.isBase64(byte) {
                run.append(byte)
            } else {
                result += judged(&run)
                result.append(byte)
            }
        }
        result += judged(&run)
        return String(decoding: result, as: UTF8.self)
    }

    /// 24 bytes in base64: the length of an app's password.
    private static let shortestRun = 32

    private static func isBase64(_ byte: UInt8) -> Bool {
        isUpper(byte) || isLower(byte) || isDigit(byte) || "+/-_=".utf8.contains(byte)
    }

    private static func isUpper(_ byte: UInt8) -> Bool { (0x41...0x5A).contains(byte) }
    private static func isLower(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte) }
    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }

    private mutating func judged(_ run: inout [UInt8]) -> [UInt8] {
        defer { run.removeAll(keepingCapacity: true) }
        guard run.count >= Self.shortestRun, Self.isMixed(run) else { return run }
        note("long random text")
        return Array(Self.mark.utf8)
    }

    /// Whether the run is as mixed as random bytes. Names and paths change case seldom, and a UUID
    /// has dashes.
    private static func isMixed(_ run: [UInt8]) -> Bool {
        if longestHex(run) >= 32 { return true }
        var changes = 0
        var before: Bool?
        for byte in run where isUpper(byte) || isLower(byte) {
            if let before, before != isUpper(byte) { changes += 1 }
            before = isUpper(byte)
        }
        return changes >= 4
    }
}

extension SecretCut {
    /// The longest run of hexadecimal digits: a name or a path may precede it.
    private static func longestHex(_ run: [UInt8]) -> Int {
        var (longest, count) = (0, 0)
        for byte in run {
            count = isDigit(byte) || (0x61...0x66).contains(byte | 0x20) ? count + 1 : 0
            longest = max(longest, count)
        }
        return longest
    }

    /// In a log line, one of these words cuts the rest of the line, whatever follows. In other
    /// text, `=` or `:` must follow.
    private static let always = [
        "password", "passwd", "passphrase", "passcode", "secret", "credential", "psk", "_pass",
    ]
    /// One of these words cuts the rest of the line only if `=` or `:` follows.
    private static let assigned = [
        "token", "authorization", "authorisation", "apikey", "api_key", "private_key",
        "privatekey", "storage_key", "bearer", "pwd",
    ]

    /// Whether a member or setting of this name holds a secret. One that names a file does not.
    static func isSecret(_ name: String) -> Bool {
        let name = name.lowercased()
        return !name.hasSuffix("file") && (always + assigned).contains { name.contains($0) }
    }

    /// - Parameter isProse: whether the text is a log line, which may contain any text.
    private mutating func cutNamed(_ text: String, isProse: Bool) -> String {
        let bytes = Array(text.utf8)
        // Only ASCII changes, so positions are the same in both.
        let lower = bytes.map { Self.isUpper($0) ? $0 | 0x20 : $0 }
        let words = Self.always.map { ($0, true) } + Self.assigned.map { ($0, false) }
        var first: Int?
        for (word, isAlways) in words {
            for end in Self.ends(of: Array(word.utf8), in: lower) {
                let tail = lower[end...]
                guard Self.isFollowed(tail, anyhow: isAlways && isProse) else { continue }
                first = min(first ?? end, end)
                break
            }
        }
        guard let first else { return text }
        note("named secret")
        return String(decoding: bytes[..<first], as: UTF8.self) + " " + Self.mark
    }

    /// The position after each occurrence.
    private static func ends(of word: [UInt8], in text: [UInt8]) -> [Int] {
        guard text.count > word.count, let head = word.first else { return [] }
        return (0...(text.count - word.count)).filter {
            text[$0] == head && text[$0..<$0 + word.count].elementsEqual(word)
        }.map { $0 + word.count }
    }

    /// Whether a value follows: after `=` or `:`, or without them if `anyhow`. A name that ends in
    /// `_file` names a file, not a secret.
    private static func isFollowed(_ tail: ArraySlice<UInt8>, anyhow: Bool) -> Bool {
        let word = tail.prefix { isLower($0) || $0 == UInt8(ascii: "_") }
        if word.contains(UInt8(ascii: "_")), word.suffix(4).elementsEqual("file".utf8) {
            return false
        }
        let rest = tail.dropFirst(word.count).drop { " \t\"'".utf8.contains($0) }
        guard let next = rest.first else { return false }
        return anyhow || next == UInt8(ascii: "=") || next == UInt8(ascii: ":")
    }
}
