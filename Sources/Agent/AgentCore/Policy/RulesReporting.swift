import Sessions

/// Which rules the authority has received over this connection, so that no heartbeat repeats
/// them.
struct RulesReporting: Sendable {
    /// The number of the current policy. Each adopted policy has the next number.
    private var current = 0
    private var answered: Int?
    /// The heartbeat in flight and the policy number that it sent. Nil: it sent two different
    /// policies under one id.
    private var told: (by: MessageID, policy: Int?)?

    mutating func changed() { current += 1 }

    mutating func connected() {
        answered = nil
        told = nil
    }

    /// Whether the heartbeat with this id must contain the rules. A repeated heartbeat contains
    /// the current rules, but its answer may belong to the earlier ones.
    mutating func tells(by id: MessageID) -> Bool {
        guard answered != current else { return false }
        if let told, told.by == id {
            if told.policy != current { self.told = (id, nil) }
        } else {
            told = (id, current)
        }
        return true
    }

    mutating func answered(_ id: MessageID) {
        guard let told, told.by == id else { return }
        if let policy = told.policy { answered = policy }
        self.told = nil
    }
}
