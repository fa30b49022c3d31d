public import Foundation

/// How far a claim is.
public struct ClaimProgress: Equatable, Sendable {
    public enum Step: String, Sendable, CaseIterable {
        /// The authority sealed the session for the board: only its own key can open it.
        case sealed
        /// The broker keeps it for the board.
        case sent
        /// The board has opened and accepted it.
        case opened
        /// A write of the board has arrived. That needs an app on the board that writes.
        case firstData
    }

    public let step: Step
    public let claimID: String
    /// The board's installation id.
    public let boardID: PairedBoard.ID
    public let sessionID: SessionDetails.ID
    /// Until when the claim waits for its board.
    public let expiresAt: Date
    /// For the person; usually empty.
    public let notes: [String]
}

/// What a session may do on its board: the rules of a policy, the first match decides.
public struct BoardScope: Equatable, Sendable, Encodable {
    public struct Rule: Equatable, Sendable, Encodable {
        public enum Operation: String, Sendable, Encodable { case create, update, delete }

        /// A class, or `*`.
        public var className: String
        public var allow: [Operation]
        /// Nil: any app.
        public var app: String?

        private enum CodingKeys: String, CodingKey {
            case className = "class"
            case allow, app
        }

        public init(_ className: String, allow: [Operation], app: String? = nil) {
            self.className = className
            self.allow = allow
            self.app = app
        }
    }

    /// Whether it allows what no rule matches.
    public var allowsOthers: Bool
    public var rules: [Rule]

    public init(rules: [Rule], allowsOthers: Bool = false) {
        self.rules = rules
        self.allowsOthers = allowsOthers
    }

    private enum CodingKeys: String, CodingKey {
        case allowsOthers = "default"
        case rules
    }

    public func encode(to encoder: any Encoder) throws {
        var form = encoder.container(keyedBy: CodingKeys.self)
        try form.encode(allowsOthers ? "allow" : "deny", forKey: .allowsOthers)
        try form.encode(rules, forKey: .rules)
    }
}

/// `POST /postern/v1/claims`.
struct ClaimOrderForm: Encodable {
    let url: String
    let durationSeconds: Int64?
    let scope: BoardScope?
    let session: [String: String]?
}

/// A claim as the authority shows it.
struct ClaimForm: Decodable {
    struct Reason: Decodable {
        let code: Int?
        let error: String?
    }

    let claimId: String
    let installationId: String
    let sessionId: String
    let state: String
    let expiresAt: Double
    let reason: Reason?
    let notes: [String]

    func progress(_ step: ClaimProgress.Step) -> ClaimProgress {
        ClaimProgress(
            step: step, claimID: claimId, boardID: installationId, sessionID: sessionId,
            expiresAt: Date(timeIntervalSince1970: expiresAt), notes: notes)
    }
}
