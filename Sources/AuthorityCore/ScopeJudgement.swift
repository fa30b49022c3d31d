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
    private static let limit = 32 * 1024

    /// The text to store, or why not.
    func accept(_ scope: ScopeDocument) throws(Refusal) -> ScopeText {
        let text = scope.json.text
        guard text.utf8.count <= Self.limit else {
            throw Refusal(.tooLarge, "a scope has at most \(Self.limit) bytes")
        }
        do throws(WireError) {
            try judge(scope)
        } catch {
            throw error.refusal
        }
        if let refusal = try forbidden(in: scope) { throw refusal }
        return ScopeText(text)
    }

    private func judge(_ scope: ScopeDocument) throws(WireError) {
        guard let members = scope.json.asObject else { throw .mistyped("scope") }
        let json = JSONObject(members)
        if let unknown = members.keys.first(
            where: { !["default", "rules", "topics"].contains($0) })
        {
            throw .mistyped(String(unknown.prefix(40)))
        }
        let fallback = try json.optional("default") { $0.asString }
        guard fallback.map({ ["allow", "deny"].contains($0) }) ?? true else {
            throw .mistyped("default")
        }
        for rule in try json.optional("rules", { $0.asArray }) ?? [] {
            guard let members = rule.asObject else { throw .mistyped("rules") }
            try judge(rule: JSONObject(members))
        }
        let topics = try json.optional("topics") { $0.asArray } ?? []
        guard topics.allSatisfy({ $0.asString != nil }), topics.count <= 100 else {
            throw .mistyped("topics")
        }
    }

    private func judge(rule: JSONObject) throws(WireError) {
        _ = try rule.optional("app") { $0.asString.flatMap { AppName($0) } }
        let name = try rule.string("class")
        guard name == "*" || ClassName(name) != nil else { throw .mistyped("class") }
        let allowed = try rule.required("allow") { $0.asArray }
        guard allowed.allSatisfy({ $0.asString.flatMap(Operation.init(rawValue:)) != nil })
        else { throw .mistyped("allow") }
        let fields = try rule.optional("fields") { $0.asObject } ?? [:]
        guard fields.values.allSatisfy({ $0.asString != nil }) else { throw .mistyped("fields") }
    }

    private func forbidden(in scope: ScopeDocument) throws(Refusal) -> Refusal? {
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
            guard TopicGrant(topic, outside: root) != nil else {
                return Refusal(
                    .forbidden,
                    "a granted topic is a valid filter, not under \(root) and not under $")
            }
        }
        return nil
    }
}

/// A topic filter that a board may be allowed to publish under: well-formed, and matching
/// nothing under the topic root nor anything that begins with `$`.
struct TopicGrant {
    let filter: TopicFilter

    init?(_ text: String, outside root: TopicRoot) {
        guard text.utf8.count <= 200, !text.hasPrefix("$"), let filter = TopicFilter(text),
            let contract = TopicFilter("\(root)/#"), !filter.overlaps(contract)
        else { return nil }
        self.filter = filter
    }
}
