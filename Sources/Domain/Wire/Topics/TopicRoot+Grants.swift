import Gate

extension TopicRoot {
    /// Whether a scope may grant a board this filter. It must be well-formed. It must match no
    /// topic under this root and none that begins with `$`.
    package func mayGrant(_ text: String) -> Bool {
        guard text.utf8.count <= 200, text.utf8.first != UInt8(ascii: "$"),
            let filter = TopicFilter(text), let contract = TopicFilter("\(self)/#")
        else { return false }
        return !filter.overlaps(contract)
    }

    /// Whether one of the two contains the other.
    package func overlaps(_ other: TopicRoot) -> Bool {
        "\(self)/".hasPrefix("\(other)/") || "\(other)/".hasPrefix("\(self)/")
    }
}
