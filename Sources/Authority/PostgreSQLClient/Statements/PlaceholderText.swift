/// Rewrites a statement of the shared tables for PostgreSQL: `?` becomes the next `$n`, `?2`
/// becomes `$2`. No statement has a question mark with another meaning.
enum PlaceholderText {
    static func of(_ sql: String) -> String {
        let parts = sql.split(separator: "?", omittingEmptySubsequences: false)
        guard var text = parts.first.map(String.init) else { return sql }
        for (index, part) in parts.dropFirst().enumerated() {
            let isNumbered = part.utf8.first.map { (0x31...0x39).contains($0) } ?? false
            text += isNumbered ? "$\(part)" : "$\(index + 1)\(part)"
        }
        return text
    }
}
