import Foundation
import PosternSession

/// One line of JSON for each event and each answer. Times are seconds since the epoch.
func say(_ members: [String: Any]) {
    guard let line = try? JSONSerialization.data(withJSONObject: members, options: [.sortedKeys])
    else { return }
    FileHandle.standardOutput.write(line + Data("\n".utf8))
}

func seconds(_ date: Date?) -> Any { date.map { $0.timeIntervalSince1970 } ?? NSNull() }

func form(_ session: SessionDetails) -> [String: Any] {
    [
        "id": session.id, "username": session.username ?? "", "state": session.state,
        "expiresAt": seconds(session.expiresAt), "endsAt": seconds(session.endsAt),
        "latestEnd": seconds(session.latestEnd), "madeBy": session.madeBy,
        "provider": session.provider, "isThisOne": session.isThisOne,
        "board": session.installationID ?? "",
    ]
}

func form(_ availability: SessionAvailability) -> [String: Any] {
    switch availability {
    case .available(let session, let validated):
        return ["state": "available", "session": form(session), "validatedAt": seconds(validated)]
    case .unavailable(let reason):
        let (name, words) = switch reason {
        case .loggedOut: ("loggedOut", "")
        case .ended: ("ended", "")
        case .unreadable(let error): ("unreadable", "\(error)")
        case .storageAway(let error): ("storageAway", "\(error)")
        case .authorityAway(let error): ("authorityAway", "\(error)")
        }
        return ["state": "unavailable", "reason": name, "words": words]
    }
}

func form(_ board: PairedBoard) -> [String: Any] {
    [
        "id": board.id, "name": board.name, "online": board.isOnline ?? false,
        "hasSession": board.hasSession ?? false, "lastData": seconds(board.lastData),
    ]
}

func form(_ error: any Error) -> [String: Any] {
    var form: [String: Any] = ["words": "\(error)"]
    guard let error = error as? SessionError else { return form }
    switch error {
    case .invalid: form["kind"] = "invalid"
    case .transport: form["kind"] = "transport"
    case .tls: form["kind"] = "tls"
    case .refused(let refusal):
        form["kind"] = "refused"
        form["code"] = refusal.code
        form["name"] = refusal.name ?? ""
    case .malformedAnswer: form["kind"] = "malformedAnswer"
    case .storage: form["kind"] = "storage"
    case .loggedOut: form["kind"] = "loggedOut"
    case .sessionOver: form["kind"] = "sessionOver"
    case .claimEnded(let end):
        form["kind"] = "claimEnded"
        form["state"] = end.state
    case .cancelled: form["kind"] = "cancelled"
    }
    return form
}
