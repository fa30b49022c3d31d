package import Sessions
package struct ClassName: Hashable, Sendable, CustomStringConvertible {
    package let description: String
    package init?(_ text: some StringProtocol) { description = String(text) }
}
package struct AppName: Hashable, Sendable, CustomStringConvertible {
    package let description: String
    package init?(_ text: some StringProtocol) { description = String(text) }
}
package enum Operation: String, Sendable, CaseIterable { case create, update, delete }
package struct RuleID: Hashable, Sendable, CustomStringConvertible { package let description: String; package static let session = RuleID(description: "builtin:session") }
package struct Rejection: Equatable, Sendable { package let code: ErrorCode; package let rule: RuleID; package let reason: String; package let field: String?
  package init(code: ErrorCode, rule: RuleID, reason: String, field: String? = nil) { self.code = code; self.rule = rule; self.reason = reason; self.field = field } }
package enum Decision: Equatable, Sendable { case allow(RuleID), deny(Rejection) }
package struct Policy: Sendable {}
package struct Scope: Sendable { package init() {} }
package struct Write { package init(app: AppName, className: ClassName, operation: Operation, payload: [UInt8]) {} }
package struct Gate: Sendable { package init(policy: Policy?, scope: Scope?) {} 
 package mutating func decide(_ w: Write, at: Duration) -> Decision { .allow(.session) } }
