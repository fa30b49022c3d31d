public import FoundationEssentials
import Sessions
import Wire

/// The session of the board, as the agent publishes it.
///
/// Source: the wire contract, The session on the bus.
public struct AppSession: Hashable, Sendable {
    /// Whether writes may leave the board.
    public let isAvailable: Bool
    /// Why there is no session: `unclaimed`, `expired`, `revoked`, `offline` and others.
    public let reason: String?
    /// Whether a person must pair the board again.
    public let isFinal: Bool
    /// The id of the session.
    public let objectID: String?
    /// The id of the user who paired the board.
    public let user: String?
    /// Nil if the session has no end that is known.
    public let expiresAt: Date?

    /// Nil for a payload that is no notice of a session.
    init?(_ payload: [UInt8]) {
        do throws(WireError) {
            let notice = try JSONObject(parsing: payload)
            isAvailable = try notice.string("state") == "available"
            guard isAvailable else {
                reason = try notice.string("reason")
                isFinal = notice.members["final"] == .bool(true)
                (objectID, user, expiresAt) = (nil, nil, nil)
                return
            }
            let session = try notice.session("session")
            (reason, isFinal) = (nil, false)
            objectID = session.objectID.description
            user = session.user.description
            expiresAt = session.expiresAt.map {
                Date(timeIntervalSince1970: Double($0.seconds))
            }
        } catch {
            return nil
        }
    }
}
