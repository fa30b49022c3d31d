package import MQTT
package import Sessions
package import Wire

/// The forbidden acts that a broker allowed, sorted by the check that reports them.
package struct RightsProof: Equatable, Sendable {
    package enum Part: Hashable, Sendable {
        /// Connecting without a login that the broker knows.
        case login
        /// Using a topic that nobody owns. It is allowed if the access list has no effect.
        case list
        /// Publishing or reading under another app's name.
        case apps
        /// Using another board's inbox.
        case inbox
        /// Using the topics on which boards send to the authority.
        case authority
        /// Using `$CONTROL`, the broker's own settings.
        case control
    }

    /// A sentence for each act that was allowed.
    package var holes: [Part: [String]] = [:]
    /// The number of refused tries.
    package var refused: [Part: Int] = [:]
    /// The number of subscriptions that were granted but delivered nothing.
    package var silent: [Part: Int] = [:]
    /// Why a part could not be tried, or has no result.
    package var untried: [Part: String] = [:]

    package init() {}

    /// A topic that nobody owns, outside all topics of Postern.
    package static let foreign = "postern-doctor/trial"
    /// An app name that no app has.
    package static let app = "postern-doctor"
    private static let control = ["$CONTROL/dynamic-security/v1", "$CONTROL/postern-doctor"]

    package static let controlActs = control.map { RightsTrial.Act.publish($0) }
    package static let appActs = ["trial", "create"].map {
        RightsTrial.Act.publish("postern/app/\(app)/\($0)")
    } + [.read("postern/app/\(app)/#")]

    /// Records the results of one login's tries. A granted subscription is a hole if the broker
    /// refuses any other subscription.
    package mutating func note(
        _ part: Part, _ acts: [RightsTrial.Act], of outcome: RightsTrial.Outcome, as who: String
    ) {
        switch outcome {
        case .keptOut: untried[part] = "the broker does not let \(who) in"
        case .unreachable(let text): untried[part] = text
        case .letIn(let answers):
            let judgesGrants = answers.contains { $0.key.isRead && $0.value == .refused }
            for act in acts {
                switch answers[act] ?? .unknown {
                case .allowed: holes[part, default: []].append("\(who) may \(act.words)")
                case .silent where judgesGrants:
                    holes[part, default: []].append("\(who) may \(act.words)")
                case .refused: refused[part, default: 0] += 1
                case .silent: silent[part, default: 0] += 1
                case .unknown: untried[part] = "the broker did not answer all tries"
                }
            }
        }
    }

    /// Tries to connect without a login, and with an invented one.
    package mutating func tryStrangers(at place: ConnectOptions) {
        var stranger = place
        stranger.username = nil
        stranger.password = nil
        var inventor = place
        inventor.username = "postern-doctor-\(UInt32.random(in: 0 ... .max))"
        inventor.password = SecretBytes(
            Array("\(UInt64.random(in: 0 ... .max))".utf8))
        for (login, who) in [(stranger, "without a login"), (inventor, "with an invented login")] {
            switch RightsTrial.run([], as: login) {
            case .letIn: holes[.login, default: []].append("anybody is let in \(who)")
            case .keptOut: refused[.login, default: 0] += 1
            case .unreachable(let text): untried[.login] = text
            }
        }
    }

    /// Tries forbidden acts at the upstream broker with a board's login. `other` is a board that
    /// does not exist. `witness` may publish to its inbox.
    package mutating func tryBoard(
        as login: ConnectOptions, own: InstallationID, other: InstallationID, root: TopicRoot,
        witness: ConnectOptions? = nil
    ) {
        let theirs = ContractTopic.inbox(other).text(under: root)
        let inbox: [RightsTrial.Act] = [
            .publish(theirs), .read(theirs), .read("\(root)/+/inbox"),
        ]
        let authority: [RightsTrial.Act] = [
            .read("\(root)/+/outbox"), .read("\(root)/+/status"),
            .publish(ContractTopic.outbox(other).text(under: root)),
        ]
        let list: [RightsTrial.Act] = [.publish(Self.foreign), .read(Self.foreign)]
        let who = "a board's login"
        let owns = [ContractTopic.inbox(own), .status(own)].map { $0.text(under: root) }
        let outcome = RightsTrial.run(
            inbox + authority + list + Self.controlActs, as: login, own: owns,
            witness: witness.map { .init($0, says: theirs) })
        note(.inbox, inbox, of: outcome, as: who)
        note(.authority, authority, of: outcome, as: who)
        note(.list, [list[0]], of: outcome, as: who)
        note(.control, Self.controlActs, of: outcome, as: who)
    }

    fileprivate func finding(_ parts: [Part], next: String) -> Finding {
        let holes = parts.flatMap { self.holes[$0] ?? [] }
        guard holes.isEmpty else {
            return .failed(holes.joined(separator: "; "), next: next)
        }
        if let why = parts.compactMap({ untried[$0] }).first { return .skipped(why) }
        let count = parts.reduce(0) { $0 + (refused[$1] ?? 0) }
        let quiet = parts.reduce(0) { $0 + (silent[$1] ?? 0) }
        guard count + quiet > 0 else { return .skipped("there is no login to try it with") }
        let rest = quiet == 0 ? "" : ", \(quiet) granted, and nothing was delivered"
        return .ok("\(count) tries were refused" + rest)
    }
}

extension RightsTrial.Act {
    fileprivate var isRead: Bool { if case .read = self { true } else { false } }

    fileprivate var words: String {
        switch self {
        case .publish(let topic): "publish to \(topic)"
        case .read(let filter): "read \(filter)"
        }
    }
}

extension Check {
    /// A check of `doctor --prove`.
    package static func proof(
        _ id: String, _ group: CheckGroup, _ parts: [RightsProof.Part], about: String,
        why: String, next: String, needs: Set<Facts.Probe>,
        of proof: @escaping @Sendable (Facts) -> RightsProof?
    ) -> Check {
        Check(id: id, group: group, about: about, why: why, needs: needs) { facts in
            proof(facts)?.finding(parts, next: next) ?? .skipped("it was not tried")
        }
    }

    /// The checks of the upstream broker.
    package static func upstreamProofs(
        group: CheckGroup, needs: Set<Facts.Probe>,
        of proof: @escaping @Sendable (Facts) -> RightsProof?
    ) -> [Check] {
        let next = "make the broker's access list apply to every listener, and compare it "
            + "with Provisioning/broker"
        let rows: [(String, [RightsProof.Part], String, String)] = [
            ("prove-login", [.login], "the boards' broker lets nobody in without a login",
             "a client without a login is not limited to one board's rights"),
            ("prove-inbox", [.inbox], "no board may use another board's inbox",
             "a client that reads it sees another board's messages, and can withhold them"),
            ("prove-authority", [.authority, .list],
             "no board may use the authority's topics, or unused topics",
             "a client that reads them sees what every board sends; the list may have no effect"),
            ("prove-control", [.control], "no board may command the broker",
             "a client that writes to $CONTROL can give itself every right"),
        ]
        return rows.map { id, parts, about, why in
            .proof(id, group, parts, about: about, why: why,
                   next: id == "prove-login" ? "set `allow_anonymous false` there, and give it "
                       + "its password file or plugin" : next,
                   needs: needs, of: proof)
        }
    }
}
