import Sessions
import Wire

/// The sentences of alerts.
enum AlertText {
    static func ending(
        _ board: WatchedBoard, _ outlook: SessionOutlook, at now: Timestamp
    ) -> String {
        let text = "The session of \(board.name) ends in \(rounded(outlook.endsAt - now)), at "
            + outlook.endsAt.words
        return outlook.cause == .idle ? text + ", if the board is not heard before" : text
    }

    /// The span in the unit that fits, to the nearest.
    static func rounded(_ span: Duration) -> String {
        let seconds = span.components.seconds
        func count(_ unit: Int64, _ name: String) -> String {
            let number = (seconds + unit / 2) / unit
            return number == 1 ? "1 \(name)" : "\(number) \(name)s"
        }
        return switch seconds {
        case ..<5400: count(60, "minute")
        case ..<129_600: count(3600, "hour")
        default: count(86_400, "day")
        }
    }

    static func expired(_ board: WatchedBoard) -> String {
        "The session of \(board.name) has expired; renew it on the board's page, or run: "
            + "postern boards renew \(board.installation.description.prefix(8))"
    }

    static func offline(_ board: WatchedBoard, since heard: Timestamp) -> String {
        "\(board.name) is offline: it was last heard at \(heard.words)"
    }

    static func silent(_ board: WatchedBoard, since data: Timestamp) -> String {
        "\(board.name) is connected, but has sent no data since \(data.words)"
    }

    static func refusals(_ board: WatchedBoard, _ count: Int64) -> String {
        "\(board.name) refused \(count) writes of its apps within an hour"
    }

    static func queue(_ board: WatchedBoard, _ count: Int64, since oldest: Timestamp) -> String {
        "\(count) messages wait on \(board.name), the oldest since \(oldest.words): "
            + "the broker does not take them"
    }

    static func filling(_ board: WatchedBoard, in span: Duration) -> String {
        span < .seconds(3600) ? "The outbox of \(board.name) is full within an hour, at this rate"
            : "The outbox of \(board.name) is full in about \(rounded(span)), at this rate"
    }

    static func shared(_ board: WatchedBoard) -> String {
        "Another machine uses the identity of \(board.name): stop the agent there, then pair "
            + "this board again with postern-agent pair --new"
    }

    static func usedTwice(_ claim: WatchedBoard, at second: Timestamp) -> String {
        "Two boards came with the file of \(claim.name), the second at \(second.words): end this "
            + "prepared claim, and prepare another"
    }

    /// `names` are the first few of `count` boards.
    static func many(_ kind: AlertKind, _ count: Int, _ names: [String]) -> String {
        let rest = count > names.count ? " and \(count - names.count) more" : ""
        let boards = count == 1 ? "1 board" : "\(count) boards"
        return "\(boards): \(state(kind)) (\(names.joined(separator: ", "))\(rest))"
    }

    private static func state(_ kind: AlertKind) -> String {
        switch kind {
        case .sessionEnding: "session ends soon"
        case .sessionExpired: "session has expired"
        case .boardOffline: "offline"
        case .boardSilent: "connected, but no data"
        case .refusals: "many writes refused"
        case .queueFilling: "data waits too long"
        case .identityShared: "identity used by another machine"
        case .claimUsedTwice: "file of a prepared claim used twice"
        }
    }
}

extension Alert {
    /// The sentence when it is resolved.
    package var resolvedText: String {
        guard board != nil else { return "No board is left with the alert: \(text)" }
        return switch kind {
        case .sessionEnding: "The session of \(boardName) does not end soon any more"
        case .sessionExpired: "\(boardName) does not need a new session any more"
        case .boardOffline: "\(boardName) is not offline any more"
        case .boardSilent: "\(boardName) is not silent any more"
        case .refusals: "\(boardName) does not refuse many writes any more"
        case .queueFilling: "The data of \(boardName) does not wait any more"
        case .identityShared: "No other machine uses the identity of \(boardName) any more"
        case .claimUsedTwice: "The prepared claim of \(boardName) that two boards used has ended"
        }
    }
}
