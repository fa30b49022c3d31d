import AgentCore
import Gate
import Sessions
import Wire

extension AgentEffect {
    /// What of it leaves the process in the clear, as text.
    var visibleText: String {
        switch self {
        case .log(_, let text): text
        case .publishBus(let publication), .publishCommand(_, let publication):
            publication.topic + " " + String(decoding: publication.payload, as: UTF8.self)
        case .publishStatus(let topic, let status):
            topic + " " + String(decoding: status.payload, as: UTF8.self)
        case .answer(_, let json): json.text
        case .send(let topic, let payload), .askToJoin(let topic, let payload):
            topic + String(decoding: payload, as: UTF8.self)
        case .connectUplink(let login):
            "\(login)" + String(decoding: login.will?.payload ?? [], as: UTF8.self)
        case .subscribeInbox(let topic): topic
        case .readRoutes(let filters): "\(filters)"
        case .grant(let grants): "\(grants)"
        case .restore(let rules): JSONValue.object(rules.members).text
        case .commit, .disconnectUplink, .abandonUplink, .forward, .retryForwarding, .readBus,
            .holdBus, .exit: ""
        }
    }

    var changes: [RecordChange]? {
        if case .commit(let changes) = self { changes } else { nil }
    }
}

extension [AgentEffect] {
    var commits: [[RecordChange]] { compactMap(\.changes) }

    /// The states that were published on `postern/session`: `available` or the reason.
    var states: [String] {
        published(BusTopic.session).compactMap { payload in
            let json = try? JSONObject(parsing: payload)
            return json?.members["reason"]?.asString ?? json?.members["state"]?.asString
        }
    }

    func published(_ topic: String) -> [[UInt8]] {
        compactMap { effect in
            guard case .publishBus(let publication) = effect, publication.topic == topic else {
                return nil
            }
            return publication.payload
        }
    }

    var grants: [PublishGrants] {
        compactMap { if case .grant(let grants) = $0 { grants } else { nil } }
    }

    var logs: [String] {
        compactMap { if case .log(_, let text) = $0 { text } else { nil } }
    }

    var logins: [UplinkLogin] {
        compactMap { if case .connectUplink(let login) = $0 { login } else { nil } }
    }

    var reading: [Bool] {
        compactMap { if case .readBus(let reads) = $0 { reads } else { nil } }
    }

    var holding: [Bool] {
        compactMap { if case .holdBus(let holds) = $0 { holds } else { nil } }
    }

    /// Whose records may leave, as the last word on it.
    var forwarded: [String] {
        compactMap { effect in
            guard case .forward(let user) = effect else { return nil }
            return user?.description ?? "nobody"
        }
    }

    /// The effects' kinds in order, such as `commit`, `send`, `bus`.
    var kinds: [String] {
        map { effect in
            switch effect {
            case .commit: "commit"
            case .publishBus: "bus"
            case .publishCommand: "command"
            case .connectUplink: "connect"
            case .disconnectUplink: "disconnect"
            case .abandonUplink: "abandon"
            case .subscribeInbox: "subscribe"
            case .send: "send"
            case .askToJoin: "ask"
            case .publishStatus: "status"
            case .forward: "forward"
            case .grant: "grant"
            case .retryForwarding: "retry"
            case .readBus: "read"
            case .holdBus: "hold"
            case .readRoutes: "routes"
            case .restore: "restore"
            case .answer: "answer"
            case .log: "log"
            case .exit: "exit"
            }
        }
    }

    /// Those that say something to anyone.
    var spoken: [String] { kinds.filter { !["commit", "log"].contains($0) } }
}

extension RecordChange {
    var name: String {
        switch self {
        case .claim(let claim): claim == nil ? "no claim" : "claim"
        case .join(let join): join == nil ? "no join" : "join"
        case .trust: "trust"
        case .session(let held): held == nil ? "no session" : "session"
        case .memory: "memory"
        case .commands: "commands"
        case .append: "append"
        case .clearWindow: "clear window"
        case .destroyQueue: "destroy queue"
        case .expire: "expire"
        case .lose: "lose"
        }
    }
}

extension BoardMessage.Body {
    var name: String {
        switch self {
        case .provisionAccepted: "accepted"
        case .provisionRejected: "rejected"
        case .sessionEnded: "ended"
        case .sessionConfirmed: "confirmed"
        case .commandResult: "command result"
        case .authenticate: "authenticate"
        case .refresh: "refresh"
        case .revoke: "revoke"
        case .list: "list"
        case .user: "user"
        case .saveConfiguration: "saveConfiguration"
        case .getConfiguration: "getConfiguration"
        case .unknown: "unknown"
        }
    }
}
