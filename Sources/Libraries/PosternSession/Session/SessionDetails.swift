public import Foundation

/// A session as the authority describes it, to its user.
public struct SessionDetails: Codable, Equatable, Sendable, Identifiable {
    /// The session's id. It opens nothing: that takes the token, which this library keeps.
    public let id: String
    /// The name of its user.
    public let username: String?
    /// Whether it may only do what its scope leaves it, as a board's session.
    public let isRestricted: Bool
    public let createdAt: Date?
    /// Its set end; nil if none is set.
    public let expiresAt: Date?
    /// When it ends by itself, by the set end or by a limit of the authority.
    public private(set) var endsAt: Date?
    /// The latest end that ``SessionClient/extend(by:shorten:)`` can set.
    public private(set) var latestEnd: Date?
    /// `pending`, `active`, `expired` or `revoked`.
    public let state: String
    /// Its name, where somebody gave it one.
    public let name: String?
    /// The board that it is on, and the board's name.
    public let installationID: String?
    public let boardName: String?
    /// How it came to be: `login`, `signup` or `create`, and by which provider.
    public let madeBy: String
    public let provider: String
    /// Whether it is the session that asked.
    public let isThisOne: Bool

    /// Whether both say the same. Ends that move with each use count for nothing.
    func isSame(as other: Self) -> Bool {
        func lasting(_ one: Self) -> Self {
            var one = one
            one.endsAt = nil
            one.latestEnd = nil
            return one
        }
        return lasting(self) == lasting(other)
    }

    private enum CodingKeys: String, CodingKey {
        case id = "objectId"
        case username, restricted, createdAt, expiresAt, endsAt, latestEnd, state, name
        case installationID = "installationId"
        case boardName, createdWith, isThisOne
    }

    public init(from decoder: any Decoder) throws {
        let form = try decoder.container(keyedBy: CodingKeys.self)
        let origin = try form.decode([String: String].self, forKey: .createdWith)
        id = try form.decode(String.self, forKey: .id)
        username = try form.decodeIfPresent(String.self, forKey: .username)
        isRestricted = try form.decode(Bool.self, forKey: .restricted)
        createdAt = DateForm.parse(try form.decode(String.self, forKey: .createdAt))
        expiresAt = try form.decodeIfPresent(DateForm.self, forKey: .expiresAt)?.date
        endsAt = try form.decodeIfPresent(DateForm.self, forKey: .endsAt)?.date
        latestEnd = try form.decodeIfPresent(DateForm.self, forKey: .latestEnd)?.date
        state = try form.decodeIfPresent(String.self, forKey: .state) ?? "active"
        name = try form.decodeIfPresent(String.self, forKey: .name)
        installationID = try form.decodeIfPresent(String.self, forKey: .installationID)
        boardName = try form.decodeIfPresent(String.self, forKey: .boardName)
        madeBy = origin["action"] ?? ""
        provider = origin["authProvider"] ?? ""
        isThisOne = try form.decodeIfPresent(Bool.self, forKey: .isThisOne) ?? false
    }

    public func encode(to encoder: any Encoder) throws {
        var form = encoder.container(keyedBy: CodingKeys.self)
        try form.encode(id, forKey: .id)
        try form.encodeIfPresent(username, forKey: .username)
        try form.encode(isRestricted, forKey: .restricted)
        try form.encode(createdAt.map(DateForm.print) ?? "", forKey: .createdAt)
        try form.encodeIfPresent(expiresAt.map(DateForm.init), forKey: .expiresAt)
        try form.encodeIfPresent(endsAt.map(DateForm.init), forKey: .endsAt)
        try form.encodeIfPresent(latestEnd.map(DateForm.init), forKey: .latestEnd)
        try form.encode(state, forKey: .state)
        try form.encodeIfPresent(name, forKey: .name)
        try form.encodeIfPresent(installationID, forKey: .installationID)
        try form.encodeIfPresent(boardName, forKey: .boardName)
        try form.encode(["action": madeBy, "authProvider": provider], forKey: .createdWith)
        try form.encode(isThisOne, forKey: .isThisOne)
    }
}

/// A person with an account at the authority.
public struct AccountUser: Codable, Equatable, Sendable, Identifiable {
    public let id: String
    public let username: String
    /// Whether they may claim boards.
    public let mayClaim: Bool
    public let isAdministrator: Bool

    private enum CodingKeys: String, CodingKey {
        case id = "objectId"
        case username, mayClaim, isAdministrator
    }

    public init(from decoder: any Decoder) throws {
        let form = try decoder.container(keyedBy: CodingKeys.self)
        id = try form.decode(String.self, forKey: .id)
        username = try form.decode(String.self, forKey: .username)
        mayClaim = try form.decodeIfPresent(Bool.self, forKey: .mayClaim) ?? false
        isAdministrator = try form.decodeIfPresent(Bool.self, forKey: .isAdministrator) ?? false
    }
}

/// Parse's `Date`. Source: Parse REST guide, Data types.
struct DateForm: Codable {
    let iso: String
    var type = "Date"

    private enum CodingKeys: String, CodingKey {
        case iso
        case type = "__type"
    }

    init(_ date: Date) { iso = Self.print(date) }

    var date: Date? { Self.parse(iso) }

    static func parse(_ text: String) -> Date? {
        try? Date(text, strategy: Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }

    /// The format cuts off what is less than a millisecond, so a time that was read a trifle below
    /// its millisecond would lose one.
    static func print(_ date: Date) -> String {
        (date + 0.0002).formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }
}
