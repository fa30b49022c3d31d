package import Sessions
package import Wire

/// A board: an installation that has accepted at least one claim.
package struct BoardRecord: Sendable {
    package let installation: InstallationID
    package var name: String
    /// The raw X25519 public key of the board, 32 bytes.
    package var deviceKey: [UInt8]
    package var owner: UserID
    /// The owner released it: any person may claim it, with any key.
    package var released: Bool
    package var lastSeen: Timestamp?
    /// Since when this owner has it. The owner must not see older data or events.
    package var ownedSince: Timestamp
    /// The words by which its owner groups it, sorted.
    package var labels: [BoardLabel]

    package init(
        installation: InstallationID, name: String, deviceKey: [UInt8], owner: UserID,
        released: Bool, lastSeen: Timestamp?, ownedSince: Timestamp = Timestamp(milliseconds: 0),
        labels: [BoardLabel] = []
    ) {
        self.ownedSince = ownedSince
        self.labels = labels
        self.installation = installation
        self.name = name
        self.deviceKey = deviceKey
        self.owner = owner
        self.released = released
        self.lastSeen = lastSeen
    }

    /// The name by which boards are sorted and searched, in one form for equal texts. Its length
    /// has a limit, because a database's index cannot hold the longest names.
    package var nameKey: String { Self.nameKey(of: name) }
    private static let longestKey = 1024

    static func nameKey(of name: String) -> String {
        let key = ShownText.composed(name.lowercased())
        guard key.utf8.count > longestKey else { return key }
        let end = key.utf8.index(key.startIndex, offsetBy: longestKey)
        return String(key.unicodeScalars[..<end])
    }
}

/// One claim, open or ended. A board has at most one open claim.
package struct ClaimRecord: Sendable {
    /// The `id` of the provisioning message.
    package let id: MessageID
    package let installation: InstallationID
    package let session: ObjectID
    package let claimant: UserID
    package var state: Claim.State
    package let createdAt: Timestamp
    package let expiresAt: Timestamp
    /// HMAC of the claim secret, to recognize a used one. Random for a renewal, which has none.
    package let secretHash: [UInt8]
    package let boardName: String
    package let deviceKey: [UInt8]
    /// The sealed provisioning. Nil when it must not be published any more.
    package var payload: [UInt8]?
    /// Replaces the derived broker password on acceptance.
    package var brokerPassword: SecretBytes?
    /// The login of an expired board, which this claim replaced. It is set again if the board does
    /// not accept the claim.
    package var formerPassword: SecretBytes?
    package var reason: Refusal?
    package let tokenOrigin: TokenOrigin
    /// The expired session that this renewal replaces from afar. Nil: a claim with a claim secret.
    package let renews: ObjectID?

    package init(
        id: MessageID, installation: InstallationID, session: ObjectID, claimant: UserID,
        state: Claim.State, createdAt: Timestamp, expiresAt: Timestamp, secretHash: [UInt8],
        boardName: String, deviceKey: [UInt8], payload: [UInt8]?,
        brokerPassword: SecretBytes?, formerPassword: SecretBytes? = nil,
        reason: Refusal? = nil, tokenOrigin: TokenOrigin = .made, renews: ObjectID? = nil
    ) {
        self.formerPassword = formerPassword
        self.renews = renews
        self.tokenOrigin = tokenOrigin
        self.id = id
        self.installation = installation
        self.session = session
        self.claimant = claimant
        self.state = state
        self.createdAt = createdAt
        self.expiresAt = expiresAt
        self.secretHash = secretHash
        self.boardName = boardName
        self.deviceKey = deviceKey
        self.payload = payload
        self.brokerPassword = brokerPassword
        self.reason = reason
    }

    /// The claim as people see it at `now`. An open claim whose time has passed is expired.
    package func view(at now: Timestamp, _ notes: [String] = []) -> Claim {
        Claim(
            id: id, board: installation, session: session,
            state: state == .sent && expiresAt <= now ? .expired : state,
            expiresAt: expiresAt, reason: reason, notes: tokenOrigin.notes + notes,
            isRenewal: renews != nil)
    }
}

/// The origin of a claim's session token.
package enum TokenOrigin: String, Sendable, CaseIterable {
    /// Made for this claim.
    case made
    /// The claimant imported it, and it named one of the claimant's sessions here.
    case known
    /// The claimant imported it, and this authority does not know it.
    case foreign

    /// Hints for the claimant.
    package var notes: [String] {
        switch self {
        case .made, .known: []
        case .foreign:
            ["this authority did not make the session token and cannot validate it with the "
                + "server that did; from now on the token belongs to this session here"]
        }
    }
}

/// The sealed reply to one request, stored so that a redelivery gets the same reply.
package struct ReplyRecord: Sendable {
    package let installation: InstallationID
    package let request: MessageID
    package let payload: [UInt8]
    package let createdAt: Timestamp
    /// Nil: kept until the refresh token in it is used.
    package let expiresAt: Timestamp?

    package init(
        installation: InstallationID, request: MessageID, payload: [UInt8],
        createdAt: Timestamp, expiresAt: Timestamp?
    ) {
        self.createdAt = createdAt
        self.installation = installation
        self.request = request
        self.payload = payload
        self.expiresAt = expiresAt
    }
}

/// A login of a person's program to the boards' broker; it lives as long as the session.
package struct PersonLogin: Sendable {
    package let session: ObjectID
    package let user: UserID
    package let password: SecretBytes

    package init(session: ObjectID, user: UserID, password: SecretBytes) {
        self.session = session
        self.user = user
        self.password = password
    }

    package var reader: BrokerReader { .person(session: session) }
}
