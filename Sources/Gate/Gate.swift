package struct ClassName: Hashable, Sendable, CustomStringConvertible {
    package let description: String
    package init?(_ text: some StringProtocol) { description = String(text) }
}
package struct AppName: Hashable, Sendable, CustomStringConvertible {
    package let description: String
    package init?(_ text: some StringProtocol) { description = String(text) }
}
package enum Operation: String, Sendable, CaseIterable { case create, update, delete }
