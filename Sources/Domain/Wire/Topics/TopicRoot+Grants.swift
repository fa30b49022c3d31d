import Gate

extension TopicRoot {
    /// Whether a board may be allowed to publish under a filter: well-formed, and matching
    /// nothing under this root nor anything that begins with `$`.
    package func mayGrant(_ text: String) -> Bool {
        guard text.utf8.count <= 200, text.utf8.first != UInt8(ascii: "$"),
            let filter = TopicFilter(text), let contract = TopicFilter("\(self)/#")
        else { return false }
        return !filter.overlaps(contract)
    }
}
