import Sessions
import Wire

/// The progress of a claim, as the authority reports it.
struct ClaimRow: Sendable {
    enum State: String, Sendable { case sent, accepted, rejected, expired, cancelled }

    let id: MessageID
    let installation: InstallationID
    let session: ObjectID
    let state: State
    /// After this time the board cannot accept the claim.
    let expiresAt: Timestamp
    let reason: Refusal?
    let isRenewal: Bool
    /// Notes for the claimant. The authority sends them once, when the claim is made.
    var notes: [String]

    init(answer: JSONObject) throws(CommandFailure) {
        self = try decoding { () throws(WireError) in try ClaimRow(json: answer) }
    }

    init(json: JSONObject) throws(WireError) {
        id = try json.parsed("claimId", MessageID.init)
        installation = try json.parsed("installationId", InstallationID.init)
        session = try json.parsed("sessionId", ObjectID.init)
        state = try json.parsed("state", State.init(rawValue:))
        expiresAt = try json.time("expiresAt")
        isRenewal = try json.optional("renewal") { $0.asBool } ?? false
        notes = try json.optional("notes") { $0.asArray?.compactMap(\.asString) } ?? []
        guard let members = json.members["reason"]?.asObject else {
            reason = nil
            return
        }
        reason = try Refusal(json: JSONObject(members))
    }

    var json: JSONValue {
        .object([
            "claimId": .string(id.description),
            "installationId": .string(installation.description),
            "sessionId": .string(session.description), "state": .string(state.rawValue),
            "expiresAt": .time(expiresAt), "reason": reason?.json ?? .null,
            "renewal": .bool(isRenewal), "notes": .array(notes.map(JSONValue.string)),
        ])
    }
}
