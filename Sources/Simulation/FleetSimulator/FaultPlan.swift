import ConfigurationFiles

/// The faults to inject: `lost-replies=5%,replays=2%,storm=60s:50%,skew=1%,thieves=20`.
///
/// A fault that is not named does not happen. Shares are from 0 % to 100 %, with or without
/// decimals.
package struct FaultPlan: Equatable, Sendable {
    /// Cuts all connections, or a share of them, again and again.
    package struct Storm: Equatable, Sendable {
        package var every: Duration
        package var share: Double
    }

    /// The share of first replies that the board never sees.
    package var lostReplies = 0.0
    /// The share of answered heartbeats that an eavesdropper sends again without a change.
    package var replays = 0.0
    package var storm: Storm?
    /// The share of boards that restart with a wrong clock when the load begins.
    package var skew = 0.0
    /// The number of boards with a thief, who has the device key and a spent refresh token.
    package var thieves = 0

    package init() {}

    package init?(argument: String) {
        var seen: Set<Substring> = []
        for part in argument.split(separator: ",", omittingEmptySubsequences: false) {
            let pair = part.split(separator: "=", omittingEmptySubsequences: false)
            guard pair.count == 2, seen.insert(pair[0]).inserted,
                take(pair[0], String(pair[1]))
            else { return nil }
        }
    }

    private mutating func take(_ name: Substring, _ value: String) -> Bool {
        switch name {
        case "lost-replies": return set(\.lostReplies, Self.share(value))
        case "replays": return set(\.replays, Self.share(value))
        case "skew": return set(\.skew, Self.share(value))
        case "storm":
            storm = Self.storm(value)
            return storm != nil
        case "thieves": return set(\.thieves, Int(value).flatMap { $0 >= 0 ? $0 : nil })
        default: return false
        }
    }

    private mutating func set<T>(_ path: WritableKeyPath<Self, T>, _ value: T?) -> Bool {
        guard let value else { return false }
        self[keyPath: path] = value
        return true
    }

    private static func storm(_ text: String) -> Storm? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count), let every = try? DurationText.parse(String(parts[0])),
            every > .zero, let share = parts.count == 1 ? 1 : share(String(parts[1]))
        else { return nil }
        return Storm(every: every, share: share)
    }

    static func share(_ text: String) -> Double? {
        guard text.hasSuffix("%"), let number = plainNumber(text.dropLast()), number <= 100
        else { return nil }
        return number / 100
    }

    /// Digits, with or without a decimal point. No sign, no exponent.
    static func plainNumber(_ text: Substring) -> Double? {
        let isPlain = text.utf8.allSatisfy { byte in
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || byte == UInt8(ascii: ".")
        }
        guard (1...12).contains(text.utf8.count), isPlain, text.first != ".", text.last != "."
        else { return nil }
        return Double(text)
    }
}

/// The rate of telemetry: `500/s` from the whole fleet, or `0.5/s/board` from each board.
package struct TelemetryRate: Equatable, Sendable {
    let perSecond: Double
    let isPerBoard: Bool

    package init?(argument: String) {
        let parts = argument.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2 || (parts.count == 3 && parts[2] == "board"), parts[1] == "s",
            let number = FaultPlan.plainNumber(parts[0]), number <= 1_000_000
        else { return nil }
        perSecond = number
        isPerBoard = parts.count == 3
    }

    /// The pause between two messages of one board; nil if it sends none.
    package func interval(boards: Int) -> Duration? {
        let each = isPerBoard ? perSecond : perSecond / Double(max(1, boards))
        return each > 0 ? .seconds(1) * (1 / each) : nil
    }
}
