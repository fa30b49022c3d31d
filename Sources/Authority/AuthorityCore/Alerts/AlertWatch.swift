package import Sessions
import Wire

/// Decides which alerts to open and to resolve. A value: no clock, no store.
///
/// It remembers what a single look at a board does not show. After a restart it starts to count
/// again; the open alerts come from the store.
package struct AlertWatch: Sendable {
    struct Key: Hashable, Sendable {
        let kind: AlertKind
        let board: InstallationID
    }

    /// The boards of one owner: they have their own messages, so they silence nobody else's.
    struct Group: Hashable, Sendable {
        let kind: AlertKind
        let owner: UserID
    }

    struct Finding: Sendable {
        let text: String
        var details: [String: JSONValue] = [:]

        var ahead: Int64? { details[Alert.aheadMember]?.asInteger }
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
    /// The times of messages, the last `manyWithin`.
    private var sent: [Group: [Timestamp]] = [:]
    /// The times of messages of all kinds, the last hour.
    private var sentOf: [UserID: [Timestamp]] = [:]
    /// How many alerts are open.
    private var openOf: [UserID: Int] = [:]

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
        sent = Self.recent(sent, AlertRules.manyWithin, at: round.sight.now)
        sentOf = Self.recent(sentOf, .seconds(3600), at: round.sight.now)
        var changes = AlertChanges()
        var left: [Group: [Alert]] = round.summaries.mapValues { _ in [] }
        for (key, alert) in round.open {
            // Without an owner the board is gone.
            guard let owner = round.owners[key.board], !round.foreign.contains(key) else {
                resolve(alert, at: round.sight.now, &changes)
                continue
            }
            if let kept = keep(alert, key, owner, round, &changes) {
                left[Group(kind: key.kind, owner: owner), default: []].append(kept)
            }
        }
        var new: [Group: [Key]] = [:]
        for key in round.held.keys where round.open[key] == nil {
            guard let owner = round.owners[key.board] else { continue }
            new[Group(kind: key.kind, owner: owner), default: []].append(key)
        }
        openOf = [:]
        for (group, alerts) in left { openOf[group.owner, default: 0] += alerts.count }
        let groups = Set(left.keys).union(new.keys)
        for group in groups.sorted(by: { Self.place($0) < Self.place($1) }) {
            try open(group, new[group] ?? [], left[group] ?? [], round, &changes, newID)
        }
        let stay = left.values.joined() + changes.opened
        let keys = Set(stay.compactMap { alert in
            alert.board.map { Key(kind: alert.kind, board: $0) }
        })
        lastHeld = lastHeld.filter { keys.contains($0.key) }
        waiting = waiting.filter { round.seen.contains($0.key) }
        refused = refused.filter { round.seen.contains($0.key) }
        isFirst = false
        return changes
    }
}

// Opening and resolving.
extension AlertWatch {
    /// Keeps or resolves an open alert about one board. Returns it if it stays open.
    private mutating func keep(
        _ alert: Alert, _ key: Key, _ owner: UserID, _ round: AlertRound,
        _ changes: inout AlertChanges
    ) -> Alert? {
        let now = round.sight.now
        let isCalm = now - (lastHeld[key] ?? began) >= rules.calm(of: alert.kind)
        guard let held = round.held[key] else {
            if round.unknown.contains(key) || !isCalm { return alert }
            resolve(alert, at: now, &changes)
            return nil
        }
        let before = alert.ahead ?? 0
        let ahead = held.finding.ahead ?? 0
        // The end moved away. If it comes back soon, that is no news.
        if ahead > before, !isCalm { return alert }
        lastHeld[key] = now
        var alert = alert
        alert.boardName = held.name
        guard ahead != before else { return alert }
        if ahead < before, alert.messages > 0 {
            guard maySend(to: owner, at: now) else { return alert }
            alert.messages += 1
            changes.reminded.insert(alert.id)
        }
        (alert.text, alert.details) = (held.finding.text, held.finding.details)
        changes.changed.append(alert)
        return alert
    }

    /// Whether one more message about the boards of this owner may be sent. If so, counts it.
    private mutating func maySend(to owner: UserID, at now: Timestamp) -> Bool {
        guard sentOf[owner, default: []].count < AlertRules.sentPerHour else { return false }
        sentOf[owner, default: []].append(now)
        return true
    }

    private func resolve(_ alert: Alert, at now: Timestamp, _ changes: inout AlertChanges) {
        var alert = alert
        alert.resolvedAt = now
        if alert.messages > 0 { alert.messages += 1 }
        changes.resolved.append(alert)
    }

    /// Opens the new alerts of a kind for one owner. If there are many, they are listed, and one
    /// alert is sent for all of them.
    private mutating func open(
        _ group: Group, _ new: [Key], _ left: [Alert], _ round: AlertRound,
        _ changes: inout AlertChanges, _ newID: () throws(AuthorityError) -> MessageID
    ) throws(AuthorityError) {
        let now = round.sight.now
        let summary = round.summaries[group]
        var listed = left.filter { $0.messages == 0 }
        // New alerts do not overtake those that wait for a summary.
        let isMany = summary?.isFresh(at: now) ?? !listed.isEmpty
            || sent[group, default: []].count + new.count > AlertRules.many
        let found = new.compactMap { key in round.held[key].map { (key, $0) } }
            .sorted { Self.place($0.1.name, $0.0) < Self.place($1.1.name, $1.0) }
        for (key, held) in found {
            guard round.open.count + changes.opened.count < AlertRules.openLimit,
                openOf[group.owner, default: 0] < AlertRules.openLimitOfOwner
            else { break }
            openOf[group.owner, default: 0] += 1
            lastHeld[key] = now
            let isSent = !isMany && maySend(to: group.owner, at: now)
            let alert = Alert(
                id: try newID(), kind: key.kind, board: key.board, boardName: held.name,
                text: held.finding.text, details: held.finding.details, openedAt: now,
                messages: isSent ? 1 : 0)
            changes.opened.append(alert)
            if isSent { sent[group, default: []].append(now) } else { listed.append(alert) }
        }
        try tell(summary, group, listed, at: now, &changes, newID)
    }

    /// Opens, changes or resolves the alert about many boards. It is sent again if boards were
    /// added or an end is nearer, at most once per `manyWithin`.
    private mutating func tell(
        _ summary: Alert?, _ group: Group, _ listed: [Alert], at now: Timestamp,
        _ changes: inout AlertChanges, _ newID: () throws(AuthorityError) -> MessageID
    ) throws(AuthorityError) {
        guard !listed.isEmpty else {
            if let summary { resolve(summary, at: now, &changes) }
            return
        }
        // The newest first.
        let ordered = listed.sorted {
            ($1.openedAt, $0.boardName) < ($0.openedAt, $1.boardName)
        }
        let ahead = listed.compactMap(\.ahead).min()
        let isNearer = (ahead ?? 0) < (summary?.ahead ?? 0)
        let isNews = summary.map { summary in
            !summary.isFresh(at: now) && (isNearer || ordered[0].openedAt.seconds > summary.sentAt)
        } ?? true
        let isSent = isNews && maySend(to: group.owner, at: now)
        if isSent { sent[group, default: []].append(now) }
        let text = AlertText.many(group.kind, listed.count, ordered.prefix(3).map(\.boardName))
        var details: [String: JSONValue] = ["boards": .integer(Int64(listed.count))]
        details[Alert.sentMember] = isSent ? .time(now) : summary?.details[Alert.sentMember]
        // An end that is nearer is news until it was sent.
        let shown = isNearer && !isSent ? summary?.ahead : ahead
        details[Alert.aheadMember] = shown.map(JSONValue.integer)
        guard var summary else {
            guard isSent else { return }
            changes.opened.append(Alert(
                id: try newID(), kind: group.kind, board: nil, owner: group.owner, boardName: "",
                text: text, details: details, openedAt: now, messages: 1))
            return
        }
        guard summary.text != text || summary.details != details else { return }
        if isSent {
            summary.messages += 1
            changes.reminded.insert(summary.id)
        }
        (summary.text, summary.details) = (text, details)
        changes.changed.append(summary)
    }

    private static func place(_ name: String, _ key: Key) -> (String, String) {
        (name, key.board.description)
    }

    private static func place(_ group: Group) -> (Int, String) {
        (AlertKind.allCases.firstIndex(of: group.kind) ?? 0, group.owner.description)
    }

    private static func recent<Key>(
        _ times: [Key: [Timestamp]], _ span: Duration, at now: Timestamp
    ) -> [Key: [Timestamp]] {
        times.mapValues { $0.filter { now - $0 < span } }.filter { !$0.value.isEmpty }
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
        case .claimUsedTwice: usedTwice(board)
        }
    }

    private func usedTwice(_ claim: WatchedBoard) -> Verdict {
        guard let second = claim.secondAt else { return .over }
        return .holds(Finding(
            text: AlertText.usedTwice(claim, at: second),
            details: [
                "preparedClaimId": .string(claim.installation.description),
                "secondAt": .time(second),
            ]))
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

    /// Data does not count as a sign of the board: the broker could make it up.
    private func offline(_ board: WatchedBoard, _ sight: AlertSight) -> Verdict {
        guard board.session != nil, let heard = board.lastSeen else { return .over }
        guard sight.now - heard >= rules.offlineAfter else { return .over }
        guard sight.isHearing else { return .unknown }
        return .holds(Finding(
            text: AlertText.offline(board, since: heard), details: ["lastHeard": .time(heard)]))
    }

    /// A board that is offline may be silent or not: that is unknown.
    private func silent(_ board: WatchedBoard, _ sight: AlertSight) -> Verdict {
        guard board.session != nil else { return .over }
        guard let data = board.lastData, let heard = board.lastSeen,
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
        guard let heard = board.lastSeen, sight.now - heard < rules.offlineAfter else {
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
