package import Sessions

extension Timestamp {
    /// For people: `2026-12-25 08:51 UTC`.
    package var words: String {
        let text = ParseDate.print(self)
        return "\(text.prefix(10)) \(text.dropFirst(11).prefix(5)) UTC"
    }
}

extension Duration {
    /// For people, in the largest unit that divides it: `30 days`, `90 minutes`, `1 year`.
    package var words: String {
        let seconds = components.seconds
        let units: [(Int64, String)] = [
            (365 * 86_400, "year"), (86_400, "day"), (3600, "hour"), (60, "minute"),
        ]
        let (size, name) = units.first { seconds % $0.0 == 0 && seconds >= $0.0 } ?? (1, "second")
        let count = seconds / size
        return "\(count) \(name)\(count == 1 ? "" : "s")"
    }
}
