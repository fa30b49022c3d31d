/// Decides when to log that a store is back: once for each outage.
struct StoreReturn {
    private var told = 0
    private var last = 0

    /// Call this after each answer of the store, with the number of losses so far. True if there
    /// was a loss since this last returned true, and none since the previous answer.
    mutating func isOver(losses: Int) -> Bool {
        defer { last = losses }
        guard losses != told, losses == last else { return false }
        told = losses
        return true
    }
}
