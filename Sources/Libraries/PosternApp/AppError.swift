/// Why a call of an `App` failed.
public enum AppError: Error, Hashable, Sendable {
    /// A rule refuses the write. Do not send it again before the program or the policy changed.
    case refused(Refused)
    /// There is no session, so no write may leave the board.
    case sessionOver(SessionOver)
    /// The write was not taken in time: the bus or the agent is away, the queue is full, or the app
    /// is faster than the policy allows. It may have arrived. Send it again with its key.
    case unavailable(Unavailable)
    /// A mistake in the call, or in the login of the app, or the app is closed, as a sentence.
    /// Nothing was sent.
    case invalid(String)
    /// The task was cancelled. The write may have arrived.
    case cancelled

    /// The decision of the agent about a write. Source: the wire contract, The rejection.
    public struct Refused: Hashable, Sendable {
        /// The number of the error, such as 119.
        public let code: Int
        /// The rule that decided, such as `policy.toml:14`.
        public let rule: String
        /// The member of the object that decided, if one did.
        public let field: String?
        /// The reason, for people.
        public let text: String
    }

    /// The end of the session, or that there was none yet.
    public struct SessionOver: Hashable, Sendable {
        /// 209, or 206 if nobody has paired the board yet.
        public let code: Int
        /// Whether a person must pair the board again. If not, the session may come back by itself.
        public let isFinal: Bool
        /// The reason, for people.
        public let text: String
    }

    /// A write that was not taken in time, or a session that was not published in time.
    public struct Unavailable: Hashable, Sendable {
        /// The key of the write; nil if the call was no write. The same call with this key sends
        /// the same write again, so that it makes no second record.
        public let key: String?
        /// What is away or full, for people.
        public let text: String
    }
}

extension AppError {
    static var closed: AppError { .invalid("the app is closed") }
}

extension AppError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .refused(let refused):
            "\(refused.code) \(refused.text) (\(refused.rule)"
                + (refused.field.map { ", field \($0)" } ?? "") + ")"
        case .sessionOver(let over): "\(over.code) \(over.text)"
        case .unavailable(let unavailable): unavailable.text
        case .invalid(let text): text
        case .cancelled: "the call was cancelled"
        }
    }
}
