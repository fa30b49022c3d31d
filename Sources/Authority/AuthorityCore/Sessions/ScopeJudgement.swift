import Gate
import Sessions
import Wire

/// Whether a scope may be given to a session at all. Rules only narrow: none opens a
/// protected class, and nothing in it reaches what is the contract's own.
///
/// Source: the wire contract, Scope.
struct ScopeJudgement {
    let root: TopicRoot
    let mayGrantTopics: Bool
    /// An access token repeats the scope and must stay below `AccessToken.limit`.
    private static let limit = 8 * 1024

    /// The text to store, or why not.
    func accept(_ scope: ScopeDocument) throws(Refusal) -> ScopeText {
        let text = scope.json.text
        guard text.utf8.count <= Self.limit else {
            throw Refusal(.tooLarge, "a scope has at most \(Self.limit) bytes")
        }
        if let refusal = forbidden(in: scope) { throw refusal }
        if let path = scope.strangeMember {
            throw Refusal(.validation, "a scope has no member \(path)")
        }
        do throws(WireError) {
            // Read as the board's gate will read it.
            _ = try Scope(scope)
        } catch {
            throw error.refusal
        }
        return ScopeText(text)
    }

    private func forbidden(in scope: ScopeDocument) -> Refusal? {
        let members = scope.json.asObject ?? [:]
        for rule in members["rules"]?.asArray ?? [] {
            let name = rule.asObject?["class"]?.asString ?? ""
            let allowed = rule.asObject?["allow"]?.asArray ?? []
            if name.hasPrefix("_"), !allowed.isEmpty {
                return Refusal(.forbidden, "no scope opens the protected class \(name)")
            }
        }
        guard let topics = members["topics"]?.asArray, !topics.isEmpty else { return nil }
        guard mayGrantTopics else {
            return Refusal(.forbidden, "only an administrator may grant topics")
        }
        for topic in topics.compactMap(\.asString) {
            guard root.mayGrant(topic) else {
                return Refusal(
                    .forbidden,
                    "a granted topic is a valid filter, not under \(root) and not under $")
            }
        }
        return nil
    }
}
