public import Foundation

/// A board of the person, as the authority sees it now.
public struct PairedBoard: Equatable, Sendable, Identifiable {
    /// The board's installation id.
    public let id: String
    public let name: String
    /// The name of its user.
    public let owner: String
    /// Whether it is connected; nil if it has not said yet.
    public let isOnline: Bool?
    /// Whether its session lets it send; nil if it has not said yet.
    public let hasSession: Bool?
    public let sessionID: String?
    /// When its session ends by itself.
    public let sessionEndsAt: Date?
    /// Why its last session ended; nil while one lives.
    public let sessionEnd: String?
    /// When the authority last heard it, and when data last came from it.
    public let lastSeen: Date?
    public let lastData: Date?
    /// How many messages wait on the board.
    public let queue: Int?
    /// The version of its agent.
    public let version: String?
}

extension PairedBoard: Decodable {
    private enum CodingKeys: String, CodingKey {
        case id = "installationId"
        case name, owner, status, sessionAvailable
        case sessionID = "sessionId"
        case sessionEndsAt, sessionEnd, lastSeen, lastDataMs, queue, version
    }

    public init(from decoder: any Decoder) throws {
        let form = try decoder.container(keyedBy: CodingKeys.self)
        func date(_ key: CodingKeys, per second: Double) throws -> Date? {
            try form.decodeIfPresent(Double.self, forKey: key)
                .map { Date(timeIntervalSince1970: $0 / second) }
        }
        id = try form.decode(String.self, forKey: .id)
        name = try form.decode(String.self, forKey: .name)
        owner = try form.decode(String.self, forKey: .owner)
        isOnline = try form.decodeIfPresent(String.self, forKey: .status).map { $0 == "up" }
        hasSession = try form.decodeIfPresent(Bool.self, forKey: .sessionAvailable)
        sessionID = try form.decodeIfPresent(String.self, forKey: .sessionID)
        sessionEndsAt = try date(.sessionEndsAt, per: 1)
        sessionEnd = try form.decodeIfPresent(String.self, forKey: .sessionEnd)
        lastSeen = try date(.lastSeen, per: 1)
        lastData = try date(.lastDataMs, per: 1000)
        queue = try form.decodeIfPresent(Int.self, forKey: .queue)
        version = try form.decodeIfPresent(String.self, forKey: .version)
    }
}

/// A write of a board that has just arrived.
public struct BoardReading: Equatable, Sendable, Decodable {
    /// The board's installation id.
    public let installationID: String
    public let className: String
    /// `create`, `update` or `delete`.
    public let operation: String
    public let objectID: String?
    /// The board's own number of the write.
    public let sequence: Int64?
    /// When the board accepted it.
    public let writtenAt: Date
    /// Its numbers and short texts, by their paths such as `room.celsius`.
    public let numbers: [String: Double]
    public let texts: [String: String]

    private enum CodingKeys: String, CodingKey {
        case installationID = "installationId"
        case className = "class"
        case operation = "op"
        case objectID = "objectId"
        case sequence = "seq"
        case writtenAt = "writtenMs"
        case numbers = "values"
        case texts
    }

    public init(from decoder: any Decoder) throws {
        let form = try decoder.container(keyedBy: CodingKeys.self)
        installationID = try form.decode(String.self, forKey: .installationID)
        className = try form.decode(String.self, forKey: .className)
        operation = try form.decode(String.self, forKey: .operation)
        objectID = try form.decodeIfPresent(String.self, forKey: .objectID)
        sequence = try form.decodeIfPresent(Int64.self, forKey: .sequence)
        writtenAt = Date(
            timeIntervalSince1970: try form.decode(Double.self, forKey: .writtenAt) / 1000)
        numbers = try form.decode([String: Double].self, forKey: .numbers)
        texts = try form.decode([String: String].self, forKey: .texts)
    }
}

/// What happens at the authority, as it happens.
public enum BoardEvent: Equatable, Sendable {
    /// The stream is open, or open again after it broke: read lists again, for they may be old.
    case connected
    /// A board changed: its connection, its session or its name.
    case board(PairedBoard)
    /// A board wrote. Only streams of one board have it.
    case reading(BoardReading)
    /// The person's sessions changed: read them again.
    case sessionsChanged
}
