import AuthorityCore
import Sessions
import Wire

// Objects of Postern's own routes. Times are whole seconds since the epoch, as on MQTT.

extension JSONValue {
    static func optionalTime(_ time: Timestamp?) -> JSONValue {
        time.map(JSONValue.time) ?? .null
    }
}

extension AuthorityInfo {
    var form: [String: JSONValue] {
        [
            "name": .string(name), "applicationId": .string(applicationID),
            "publicUrl": .string(publicURL), "topicRoot": .string(topicRoot.description),
            "version": .string(version),
            "longestSessionSeconds":
                longestSession.map { .integer($0.components.seconds) } ?? .null,
            "idleSessionSeconds": idleSession.map { .integer($0.components.seconds) } ?? .null,
        ]
    }
}

extension Claim {
    var form: [String: JSONValue] {
        [
            "claimId": .string(id.description), "installationId": .string(board.description),
            "sessionId": .string(session.description), "state": .string(state.rawValue),
            "expiresAt": .time(expiresAt), "reason": reason?.json ?? .null,
            "notes": .array(notes.map(JSONValue.string)), "renewal": .bool(isRenewal),
        ]
    }
}

extension Board {
    /// `lastData` is the time of the latest data, by this authority's clock. `sessionWarning` is
    /// set once it is time to announce the session's end.
    func form(lastData: Timestamp?) -> [String: JSONValue] {
        [
            "installationId": .string(installation.description), "name": .string(name),
            "labels": .array(labels.map { .string($0.description) }),
            "owner": .string(owner.username), "ownerId": .string(owner.objectID.description),
            "deviceKey": .string(deviceKey.description),
            "shared": shared.map { .object($0.form(by: owner.username)) } ?? .null,
            "sessionId": .optional(isSeenOnly ? nil : session?.session.objectID),
            "sessionState": .optional(session?.state.rawValue),
            "sessionEnd": .optional(sessionEnd), "renewable": .bool(isRenewable),
            "renewal": renewal.map { .object($0.form) } ?? .null,
            "sessionExpiresAt": .optionalTime(session?.session.expiresAt),
            "sessionEndsAt": .optionalTime(session?.outlook?.endsAt),
            "sessionEndCause": .optional(session?.outlook?.cause.rawValue),
            "sessionWarning": warning.map { .integer(Int64($0)) } ?? .null,
            "sessionLatestEnd": .optionalTime(session?.latestEnd),
            "scopePending": .bool(session?.isScopePending == true),
            "lastSeen": .optionalTime(lastSeen),
            "status": .optional(status.map { $0.up ? "up" : "down" }),
            "sessionAvailable": status.map { .bool($0.available) } ?? .null,
            "statusSince": .optionalTime(status?.since), "version": .optional(status?.version),
            "gaps": status.map { .integer($0.gaps.total) } ?? .null,
            "lastDataMs": .optionalMilliseconds(showsActivity ? lastData : nil),
            "queue": status?.queue.map(JSONValue.integer) ?? .null,
            "refused": status?.refused.map(JSONValue.integer) ?? .null,
        ]
    }
}

extension BoardDetail {
    /// The members that the route of a single board adds.
    var extraForm: [String: JSONValue] {
        board.rulesForm.merging([
            "openClaim": openClaim.map { .object($0.form) } ?? .null,
            "replaces": .array(replaced.map { .object($0.form) }),
        ]) { $1 }
    }
}

extension AuditEntry {
    var form: [String: JSONValue] {
        [
            "number": .integer(number), "at": .time(at), "event": .string(event),
            "actor": .string(actor), "installationId": .optional(board),
            "sessionId": .optional(session), "detail": .string(detail),
        ]
    }
}

extension BrokerLogin {
    /// Holds a password. Only the caller gets it, and nothing stores it on the way.
    var form: [String: JSONValue] {
        [
            "uri": .string(uri), "clientId": .string(clientID), "username": .string(username),
            "password": .string(String(decoding: password.reveal(), as: UTF8.self)),
            "ca": .optional(ca), "filters": .array(filters.map(JSONValue.string)),
        ]
    }
}
