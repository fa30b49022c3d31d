import Gate
import Sessions
import Wire

/// Decides whether a session may have a scope. Rules can only narrow: none opens a protected class,
/// and no granted topic is under the contract's own topics.
///
/// Source: the wire contract, Scope.
struct ScopeJudgement {
    let root: TopicRoot
    /// Whether a scope may grant this filter.
    let mayGrant: (String) -> Bool
    let mayGrantTopics: Bool
    /// The maximum size in bytes. An access token repeats the scope and must stay below
    /// `AccessToken.limit`.
    private static let limit = 8 * 1024

    /// Returns the text to store. Throws if the scope is refused.
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
            // The board's gate reads the scope in the same way.
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
                return Refusal(.forbidden, "no scope may allow the protected class \(name)")
            }
        }
        guard let topics = members["topics"]?.asArray, !topics.isEmpty else { return nil }
        guard mayGrantTopics else {
            return Refusal(.forbidden, "only an administrator may grant topics")
        }
        for topic in topics.compactMap(\.asString) {
            guard mayGrant(topic) else {
                return Refusal(
                    .forbidden,
                    "a granted topic must be a valid filter, not under \(root) or $, and must not "
                        + "announce sensors to Home Assistant")
            }
        }
        return nil
    }
}
