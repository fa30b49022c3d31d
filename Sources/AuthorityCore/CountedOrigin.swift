/// Under what an address is counted: an IPv4 address by itself, an IPv6 address by its first 64
/// bits, for whoever has one has all that share them. Source: RFC 4291 §2.5.4 and §2.5.5.2.
package struct CountedOrigin: Hashable, Sendable, CustomStringConvertible {
    package let description: String

    /// What is no address counts as it stands, 64 characters of it.
    package init(_ text: String) {
        description = Self.network(text) ?? String(text.prefix(64))
    }

    private static let mapped = "::ffff:"

    private static func network(_ text: String) -> String? {
        guard text.contains(":"), text.utf8.count <= 64 else { return nil }
        let address = text.lowercased().prefix { $0 != "%" }
        if address.hasPrefix(mapped), address.contains(".") {
            return String(address.dropFirst(mapped.count))
        }
        let parts = address.split(separator: ":", omittingEmptySubsequences: false)
        let head = Array(parts.prefix { !$0.isEmpty })
        let tail = parts.dropFirst(head.count).filter { !$0.isEmpty }
        guard head.count + tail.count <= 8 else { return nil }
        let zeros = [Substring](repeating: "0", count: 8 - head.count - tail.count)
        let groups = (head + zeros + tail).prefix(4).compactMap { UInt16($0, radix: 16) }
        guard groups.count == 4 else { return nil }
        return groups.map { String($0, radix: 16) }.joined(separator: ":") + "::/64"
    }
}
