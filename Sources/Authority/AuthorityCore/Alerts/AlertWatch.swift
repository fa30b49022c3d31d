package import Sessions
import Wire

/// What one round found: the alerts to store, and those among them to send.
package struct AlertChanges: Equatable, Sendable {
    /// With their number of messages already counted.
    package var opened: [Alert] = []
    /// Open alerts with another text. Those in `reminded` are sent again.
    package var changed: [Alert] = []
    package var reminded: Set<MessageID> = []
    package var resolved: [Alert] = []

    package var isEmpty: Bool { opened.isEmpty && changed.isEmpty && resolved.isEmpty }
}

/// What the authority can see during a round.
package struct AlertSight: Equatable, Sendable {
    package let now: Timestamp
    /// Since when boards can be heard; nil while the broker is away.
    package let hearsSince: Timestamp?
    /// How long after `hearsSince` the silence of a board proves nothing.
    package let grace: Duration

    package init(now: Timestamp, hearsSince: Timestamp?, grace: Duration) {
        self.now = now
        self.hearsSince = hearsSince
        self.grace = grace
    }

    /// Since when silence counts.
    var isHearing: Bool { hearsSince.map { now - $0 >= grace } ?? false }
}

/// Decides which alerts to open and to resolve. A value: no clock, no store.
///
/// It remembers what a single look at a board does not show. After a restart it starts to count
/// again; the open alerts come from the store.
package struct AlertWatch: Sendable {
    struct Key: Hashable, Sendable {
        let kind: AlertKind
        /// Nil: the alert about many boards.
        let board: InstallationID?
    }

    struct Finding: Sendable {
        let text: String
        var details: [String: JSONValue] = [:]
    }

    enum Verdict: Sendable {
        case holds(Finding)
        case over
        /// Nothing is known now: an open alert stays, and none is opened.
        case unknown
    }

    private struct RefusedHour: Sendable {
        var began: Timestamp
        var count: Int64
        var last: Int64
    }

    let rules: AlertRules
    private let began: Timestamp
    /// When a state last held, for alerts that are open.
    private var lastHeld: [Key: Timestamp] = [:]
    /// Since when data waits too long.
    private var waiting: [InstallationID: Timestamp] = [:]
    private var refused: [InstallationID: RefusedHour] = [:]
    private var isFirst = true
    /// The times of messages about single boards, the last `manyWithin`.
    private var sent: [AlertKind: [Timestamp]] = [:]

    package init(rules: AlertRules, at now: Timestamp) {
        self.rules = rules
        began = now
    }

    /// One round over all boards. `open` are the open alerts of the store.
    package mutating func round(
        _ boards: [WatchedBoard], open: [Alert], _ sight: AlertSight,
        newID: () throws(AuthorityError) -> MessageID
    ) throws(AuthorityError) -> AlertChanges {
        var round = AlertRound(open, sight)
        look(at: boards, &round)
        return try finish(round, newID: newID)
    }

    /// Looks at some of the boards.
    package mutating func look(at boards: [WatchedBoard], _ round: inout AlertRound) {
        for board in boards {
            let id = board.installation
            for kind in AlertKind.allCases {
                let verdict = verdict(kind, board, round.sight)
                round.note(verdict, Key(kind: kind, board: id), board)
            }
            if round.alerted.contains(id) || waiting[id] != nil || refused[id] != nil {
                round.seen.insert(id)
            }
        }
    }

    /// Decides, after all boards were looked at.
    package mutating func finish(
        _ round: AlertRound, newID: () throws(AuthorityError) -> MessageID
    ) throws(AuthorityError) -> AlertChanges {
        let now = round.sight.now
        for kind in AlertKind.allCases {
            sent[kind] = (sent[kind] ?? []).filter { now - $0 < AlertRules.manyWithin }
        }
        var changes = AlertChanges()
        var left: [Alert] = []
        for alert in round.open.values where alert.board != nil {
            if let kept = keep(alert, round, &changes) { left.append(kept) }
        }
        for kind in AlertKind.allCases {
            try open(kind, round, left.filter { $0.kind == kind }, &changes, newID)
        }
        let keys = Set((left + changes.opened).map { Key(kind: $0.kind, board: $0.board) })
        lastHeld = lastHeld.filter { keys.contains($0.key) }
        waiting = waiting.filter { round.seen.contains($0.key) }
        refused = refused.filter { round.seen.contains($0.key) }
        isFirst = false
        return changes
    }
}

/// A round in progress.
package struct AlertRound: Sendable {
    let sight: AlertSight
    let open: [AlertWatch.Key: Alert]
    /// The boards with an open alert.
    let alerted: Set<InstallationID>
    /// The boards that were looked at, without those about which nothing is remembered.
    var seen: Set<InstallationID> = []
    var held: [AlertWatch.Key: (name: String, finding: AlertWatch.Finding)] = [:]
    var unknown: Set<AlertWatch.Key> = []
    /// Alerts of the time before the board had its present owner.
    var foreign: Set<AlertWatch.Key> = []

    package init(_ open: [Alert], _ sight: AlertSight) {
        self.sight = sight
        alerted = Set(open.compactMap(\.board))
        self.open = Dictionary(open.map { (AlertWatch.Key(kind: $0.kind, board: $0.board), $0) }) {
            first, _ in first
        }
    }

    mutating func note(
        _ verdict: AlertWatch.Verdict, _ key: AlertWatch.Key, _ board: WatchedBoard
    ) {
        if let alert = open[key], alert.openedAt < board.ownedSince { foreign.insert(key) }
        switch verdict {
        case .holds(let finding):
            if held.count < AlertRules.openLimit || open[key] != nil {
                held[key] = (board.name, finding)
            }
        case .over: break
        case .unknown: if open[key] != nil { unknown.insert(key) }
        }
    }
}

// Opening and resolving.
extension AlertWatch {
    /// Keeps or resolves an open alert about one board. Returns it if it stays open.
    private mutating func keep(
        _ alert: Alert, _ round: AlertRound, _ changes: inout AlertChanges
    ) -> Alert? {
        let key = Key(kind: alert.kind, board: alert.board)
        var alert = alert
        if let (name, finding) = round.held[key], !round.foreign.contains(key) {
            lastHeld[key] = round.sight.now
            alert.boardName = name
            guard let before = alert.ahead, let ahead = Self.ahead(finding), ahead != before else {
                return alert
            }
            (alert.text, alert.details) = (finding.text, finding.details)
            if ahead < before, alert.messages > 0 {
                alert.messages += 1
                changes.reminded.insert(alert.id)
            }
            changes.changed.append(alert)
            return alert
        }
        let isGone = alert.board.map { !round.seen.contains($0) } ?? false
            || round.foreign.contains(key)
        let calm = round.sight.now - (lastHeld[key] ?? began)
        if !isGone, round.unknown.contains(key) || calm < rules.calm(of: alert.kind) {
            return alert
        }
        resolve(alert, at: round.sight.now, &changes)
        return nil
    }

    private func resolve(_ alert: Alert, at now: Timestamp, _ changes: inout AlertChanges) {
        var alert = alert
        alert.resolvedAt = now
        if alert.messages > 0 { alert.messages += 1 }
        changes.resolved.append(alert)
    }

    /// Opens the new alerts of a kind. If there are many, they are listed and one alert is sent for
    /// all of them.
    private mutating func open(
        _ kind: AlertKind, _ round: AlertRound, _ left: [Alert], _ changes: inout AlertChanges,
        _ newID: () throws(AuthorityError) -> MessageID
    ) throws(AuthorityError) {
        let now = round.sight.now
        let new = round.held.filter { $0.key.kind == kind && round.open[$0.key] == nil }
            .sorted { Self.place($0.value.name, $0.key) < Self.place($1.value.name, $1.key) }
        let summary = round.open[Key(kind: kind, board: nil)]
        let isMany = summary != nil || (sent[kind] ?? []).count + new.count > AlertRules.many
        var listed = left.filter { $0.messages == 0 }
        for (key, (name, finding)) in new {
            lastHeld[key] = now
            guard round.open.count + changes.opened.count < AlertRules.openLimit else { break }
            let alert = Alert(
                id: try newID(), kind: kind, board: key.board, boardName: name, text: finding.text,
                details: finding.details, openedAt: now, messages: isMany ? 0 : 1)
            changes.opened.append(alert)
            if isMany { listed.append(alert) } else { sent[kind, default: []].append(now) }
        }
        try tell(summary, kind, listed, at: now, &changes, newID)
    }

    /// Opens, changes or resolves the alert about many boards.
    private func tell(
        _ summary: Alert?, _ kind: AlertKind, _ listed: [Alert], at now: Timestamp,
        _ changes: inout AlertChanges, _ newID: () throws(AuthorityError) -> MessageID
    ) throws(AuthorityError) {
        guard !listed.isEmpty else {
            if let summary { resolve(summary, at: now, &changes) }
            return
        }
        let names = listed.prefix(3).map(\.boardName)
        let text = AlertText.many(kind, listed.count, names)
        var details: [String: JSONValue] = ["boards": .integer(Int64(listed.count))]
        let ahead = listed.compactMap(\.ahead).min()
        details[Alert.aheadMember] = ahead.map(JSONValue.integer)
        guard var summary else {
            changes.opened.append(Alert(
                id: try newID(), kind: kind, board: nil, boardName: "", text: text,
                details: details, openedAt: now, messages: 1))
            return
        }
        guard summary.text != text || summary.ahead != ahead else { return }
        if let ahead, let before = summary.ahead, ahead < before {
            summary.messages += 1
            changes.reminded.insert(summary.id)
        }
        (summary.text, summary.details) = (text, details)
        changes.changed.append(summary)
    }

    private static func place(_ name: String, _ key: Key) -> (String, String) {
        (name, key.board?.description ?? "")
    }

    private static func ahead(_ finding: Finding) -> Int64? {
        finding.details[Alert.aheadMember]?.asInteger
    }
}

// One board's state.
extension AlertWatch {
    private mutating func verdict(
        _ kind: AlertKind, _ board: WatchedBoard, _ sight: AlertSight
    ) -> Verdict {
        switch kind {
        case .sessionEnding: ending(board, sight.now)
        case .sessionExpired: expired(board)
        case .boardOffline: offline(board, sight)
        case .boardSilent: silent(board, sight)
        case .refusals: refusals(board, sight.now)
        case .queueFilling: queue(board, sight)
        case .identityShared:
            board.session != nil && board.report?.isShared == true
                ? .holds(Finding(text: AlertText.shared(board))) : .over
        }
    }

    /// The spans have the rule of `SessionOutlook.warning`: a session for 30 days is not announced
    /// 30 days ahead.
    private func ending(_ board: WatchedBoard, _ now: Timestamp) -> Verdict {
        guard let session = board.session, let outlook = session.outlook, outlook.endsAt > now
        else { return .over }
        let left = outlook.endsAt - now
        let ahead = rules.ending.filter { left <= $0 && outlook.span > $0 }.min()
        guard let ahead else { return .over }
        return .holds(Finding(
            text: AlertText.ending(board, outlook, at: now),
            details: [
                "endsAt": .time(outlook.endsAt), "cause": .string(outlook.cause.rawValue),
                "sessionId": .string(session.id.description),
                Alert.aheadMember: .integer(ahead.components.seconds),
            ]))
    }

    private func expired(_ board: WatchedBoard) -> Verdict {
        guard board.session == nil, let ended = board.expiredAt else { return .over }
        return .holds(Finding(
            text: AlertText.expired(board),
            details: ["expiredAt": .time(ended), "renewable": .bool(board.isRenewable)]))
    }

    private func offline(_ board: WatchedBoard, _ sight: AlertSight) -> Verdict {
        guard board.session != nil, let heard = board.lastHeard else { return .over }
        guard sight.now - heard >= rules.offlineAfter else { return .over }
        guard sight.isHearing else { return .unknown }
        return .holds(Finding(
            text: AlertText.offline(board, since: heard), details: ["lastHeard": .time(heard)]))
    }

    /// A board that is offline may be silent or not: that is unknown.
    private func silent(_ board: WatchedBoard, _ sight: AlertSight) -> Verdict {
        guard board.session != nil else { return .over }
        guard let data = board.lastData, let heard = board.lastHeard,
            let hears = sight.hearsSince, sight.now - heard < rules.offlineAfter
        else { return .unknown }
        guard sight.now - data >= rules.silentAfter else { return .over }
        guard sight.now - hears >= rules.silentAfter else { return .unknown }
        return .holds(Finding(
            text: AlertText.silent(board, since: data), details: ["lastData": .time(data)]))
    }

    /// Counts by the hour. The board's count restarts with its agent. A count that may be older
    /// than the watch, or than the session, is only the beginning.
    private mutating func refusals(_ board: WatchedBoard, _ now: Timestamp) -> Verdict {
        guard let session = board.session, let count = board.report?.refused, count > 0 else {
            return .over
        }
        let id = board.installation
        let isYoung = isFirst || now - session.createdAt < .seconds(3600)
        var hour = refused[id] ?? RefusedHour(began: now, count: 0, last: isYoung ? count : 0)
        if now - hour.began >= .seconds(3600) { (hour.began, hour.count) = (now, 0) }
        // The count comes from the board.
        let (sum, overflow) = hour.count.addingReportingOverflow(
            count >= hour.last ? count - hour.last : count)
        hour.count = overflow ? .max : sum
        hour.last = count
        refused[id] = hour
        guard hour.count >= rules.refusedPerHour else { return .over }
        return .holds(Finding(
            text: AlertText.refusals(board, hour.count), details: ["count": .integer(hour.count)]))
    }

    private mutating func queue(_ board: WatchedBoard, _ sight: AlertSight) -> Verdict {
        let id = board.installation
        guard board.session != nil, let queue = board.report?.queue else { return .over }
        guard let heard = board.lastHeard, sight.now - heard < rules.offlineAfter else {
            return .unknown
        }
        guard let text = fault(of: queue, board, sight.now) else {
            waiting[id] = nil
            return .over
        }
        let since = waiting[id] ?? sight.now
        waiting[id] = since
        guard sight.now - since >= AlertRules.queueHolds else { return .unknown }
        var details: [String: JSONValue] = ["messages": .integer(queue.messages)]
        details["oldest"] = queue.oldest.map(JSONValue.time)
        details["hoursLeft"] = queue.hoursLeft.map(JSONValue.integer)
        return .holds(Finding(text: text, details: details))
    }

    private func fault(
        of queue: BoardReport.Queue, _ board: WatchedBoard, _ now: Timestamp
    ) -> String? {
        guard queue.messages > 0 else { return nil }
        if let hours = queue.hoursLeft, hours <= BoardReport.Queue.mostHours,
            Duration.seconds(hours * 3600) < rules.fullWithin {
            return AlertText.filling(board, in: .seconds(hours * 3600))
        }
        guard let oldest = queue.oldest, now - oldest >= rules.queueAfter else { return nil }
        return AlertText.queue(board, queue.messages, since: oldest)
    }
}
