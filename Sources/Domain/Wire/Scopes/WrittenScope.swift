import Gate
import Sessions

/// A mistake in a scope that a person wrote. The sentence names the place.
package struct ScopeFault: Error, Equatable, Sendable, CustomStringConvertible {
    package let description: String
}

/// Scopes written by people. A board ignores an unknown member, as the contract says. So a mistyped
/// member would leave open what it should close, and is reported to the author.
extension ScopeDocument {
    /// Reads a scope file. An unknown or repeated member is an error.
    package init(written bytes: [UInt8]) throws(ScopeFault) {
        if let path = RepeatedKey.first(in: bytes) {
            throw ScopeFault(description: "\(path) is there twice")
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

    /// The path of the first unknown member, such as `rules[0].feilds`; nil if all are known.
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
