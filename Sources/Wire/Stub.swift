package import Gate
package extension Scope { init(_ d: ScopeDocument) throws(WireError) { self.init() } }
