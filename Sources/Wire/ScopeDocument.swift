package import Sessions

/// A scope as it stands in JSON: kept as it came, judged as the gate reads it.
///
/// Source: the wire contract, Scope.
package struct ScopeDocument: Equatable, Sendable {
    package let json: JSONValue
    package init(unchecked json: JSONValue) { self.json = json }
}

extension JSONObject {
    /// A scope that may be absent.
    func scope(_ name: String) throws(WireError) -> ScopeDocument? {
        try optional(name) { value in
            value.asObject == nil ? nil : ScopeDocument(unchecked: value)
        }
    }
}
