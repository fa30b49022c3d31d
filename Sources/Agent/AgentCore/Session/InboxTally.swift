import Sessions

/// The counts of inbox messages that this process did not accept, and the answers to them.
struct InboxTally: Sendable {
    /// How many refused provisionings the agent remembers: by id, and as answered.
    private static let idLimit = 16
    private static let answerLimit = 64

    /// The number of inbox messages that could not be opened or could not be used.
    private(set) var dropped: Int64 = 0
    private(set) var refusedProvisionings: Int64 = 0
    /// Refused provisionings that used the claim secret. The authority has given them up, so a
    /// late copy must not be accepted once the clock is right. A restart clears the list.
    private var givenUp: [MessageID] = []
    /// SHA-256 of the refused provisionings that were answered over this connection.
    private var answered: [[UInt8]] = []

    mutating func drop() { dropped += 1 }

    mutating func refuseProvisioning() { refusedProvisionings += 1 }

    func hasGivenUp(_ provisioning: MessageID) -> Bool { givenUp.contains(provisioning) }

    mutating func giveUp(_ provisioning: MessageID) {
        guard !hasGivenUp(provisioning) else { return }
        givenUp = givenUp.suffix(Self.idLimit - 1) + [provisioning]
    }

    /// Whether to answer a refused provisioning: each payload once per connection.
    mutating func answers(_ digest: [UInt8]) -> Bool {
        guard !answered.contains(digest) else { return false }
        answered.append(digest)
        if answered.count > Self.answerLimit { answered.removeFirst() }
        return true
    }

    /// Forgets the answers, because they may have been lost with the connection.
    mutating func disconnected() { answered.removeAll() }
}
