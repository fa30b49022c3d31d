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

/// A round in progress.
package struct AlertRound: Sendable {
    /// A state that was found.
    struct Held: Sendable {
        let name: String
        let finding: AlertWatch.Finding
    }

    let sight: AlertSight
    /// The open alerts about single boards.
    private(set) var open: [AlertWatch.Key: Alert] = [:]
    /// The open alerts about many boards of an owner.
    private(set) var summaries: [AlertWatch.Group: Alert] = [:]
    /// The boards with an open alert.
    let alerted: Set<InstallationID>
    /// The boards that were looked at, without those about which nothing is remembered.
    var seen: Set<InstallationID> = []
    /// The owners of the boards with a state or an open alert.
    private(set) var owners: [InstallationID: UserID] = [:]
    private(set) var held: [AlertWatch.Key: Held] = [:]
    private var heldOf: [UserID: Int] = [:]
    private(set) var unknown: Set<AlertWatch.Key> = []
    /// Alerts of the time before the board had its present owner.
    private(set) var foreign: Set<AlertWatch.Key> = []

    package init(_ open: [Alert], _ sight: AlertSight) {
        self.sight = sight
        alerted = Set(open.compactMap(\.board))
        for alert in open {
            if let board = alert.board {
                self.open[AlertWatch.Key(kind: alert.kind, board: board)] = alert
            } else if let owner = alert.owner {
                summaries[AlertWatch.Group(kind: alert.kind, owner: owner)] = alert
            }
        }
    }

    mutating func note(
        _ verdict: AlertWatch.Verdict, _ key: AlertWatch.Key, _ board: WatchedBoard
    ) {
        let alert = open[key]
        if let alert {
            owners[key.board] = board.owner
            if alert.openedAt < board.ownedSince { foreign.insert(key) }
        }
        switch verdict {
        case .holds(let finding):
            let count = heldOf[board.owner, default: 0]
            guard alert != nil || held.count < AlertRules.openLimit
                && count < AlertRules.openLimitOfOwner
            else { return }
            heldOf[board.owner] = count + 1
            owners[key.board] = board.owner
            held[key] = Held(name: board.name, finding: finding)
        case .over: break
        case .unknown: if alert != nil { unknown.insert(key) }
        }
    }
}
