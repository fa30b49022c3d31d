/// When a store that was away is to be said to be back: once for each outage.
struct StoreReturn {
    private var told = 0
    private var last = 0

    /// To be asked whenever the store has just answered, with how often it was away by then:
    /// whether something was lost since this was last so, and nothing since the answer before.
    mutating func isOver(losses: Int) -> Bool {
        defer { last = losses }
        guard losses != told, losses == last else { return false }
        told = losses
        return true
    }
}
