import Gate
import Sessions

/// What is wrong with a scope that a person wrote: a sentence that names the place.
package struct ScopeFault: Error, Equatable, Sendable, CustomStringConvertible {
    package let description: String
}

/// Scopes as people write them. A board ignores a member that it does not know, as the contract
/// has it, so a mistyped one would leave open what it was to close: whoever writes it is told.
extension ScopeDocument {
    /// Reads a scope file with nothing in it that would be passed over.
    package init(written bytes: [UInt8]) throws(ScopeFault) {
        if let path = RepeatedKey.first(in: bytes) {
            throw ScopeFault(description: "\(path) stands there twice")
        }
        do throws(WireError) {
            self.init(unchecked: try JSONValue(parsing: bytes, limit: bytes.count))
            _ = try Scope(self)
        } catch {
            throw ScopeFault(description: error.refusal.text)
        }
        if let path = strangeMember {
            throw ScopeFault(description: "a scope has no member \(path)")
        }
    }

    /// The first member that no scope has, `rules[0].feilds`; nil where all are known.
    package var strangeMember: String? {
        let members = json.asObject ?? [:]
        if let name = Self.stranger(members, among: ["default", "rules", "topics"]) { return name }
        for (index, rule) in (members["rules"]?.asArray ?? []).enumerated() {
            let known: Set = ["app", "class", "allow", "fields", "max_bytes"]
            if let name = Self.stranger(rule.asObject ?? [:], among: known) {
                return "rules[\(index)].\(name)"
            }
        }
        return nil
    }

    private static func stranger(
        _ members: [String: JSONValue], among known: Set<String>
    ) -> String? {
        members.keys.filter { !known.contains($0) }.min()
    }
}
