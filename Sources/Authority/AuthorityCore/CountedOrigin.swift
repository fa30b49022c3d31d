import Sessions

/// The key under which an address is counted for rate limits: an IPv4 address by itself, an IPv6
/// address by its first 64 bits, because one host can use all addresses that share them.
/// Source: RFC 4291 §2.5.4 and §2.5.5.2.
package struct CountedOrigin: Hashable, Sendable, CustomStringConvertible {
    package let description: String

    /// Text that is no IPv6 address counts unchanged, its first 64 characters.
    package init(_ text: String) {
        description = Self.network(text) ?? String(text.prefix(64))
    }

    private init(network: String) { description = network }

    /// The wider networks of this address, in which one person may have every address: for IPv4 the
    /// /24, for IPv6 the /56 and the /48. Empty if it is no address.
    ///
    /// Source: RFC 6177 §2, which has sites get a /48 to a /56.
    package var networks: [CountedOrigin] {
        let bytes = description.split(separator: ".", omittingEmptySubsequences: false)
        if bytes.count == 4, bytes.allSatisfy({ UInt8($0) != nil }) {
            return [CountedOrigin(network: bytes.dropLast().joined(separator: ".") + ".0/24")]
        }
        let groups = description.split(separator: ":").prefix(4).map { UInt16($0, radix: 16) }
        guard description.hasSuffix("::/64"), groups.count == 4, let last = groups[3] else {
            return []
        }
        let site = description.split(separator: ":").prefix(3).joined(separator: ":")
        return [
            CountedOrigin(network: "\(site):\(String(last & 0xFF00, radix: 16))::/56"),
            CountedOrigin(network: "\(site)::/48"),
        ]
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

/// A set of open requests of strangers that is limited in number.
package enum RequestScope: Sendable {
    /// From one `CountedOrigin`.
    case address(String)
    /// From one network of many addresses.
    case network(String)
    case all

    /// An address, with the widest network that one person may have.
    package static func network(of origin: CountedOrigin) -> String {
        (origin.networks.last ?? origin).description
    }
}

/// How many requests of strangers may be open at once: of one address, of one network in which a
/// person may have many addresses, and of all.
struct RequestRoom: Sendable {
    /// The plural, for the refusal.
    let things: String
    let address: Int
    let network: Int
    let all: Int

    /// Throws 155 if there is no room for one more. `end` is the end of the newest open request of
    /// a set that comes after so many others.
    func require(
        for origin: CountedOrigin, at now: Timestamp,
        end: (RequestScope, Int) throws(AuthorityError) -> Timestamp?
    ) throws(AuthorityError) {
        let limits: [(RequestScope, Int)] = [
            (.address(origin.description), address),
            (.network(RequestScope.network(of: origin)), network), (.all, all),
        ]
        for (scope, limit) in limits {
            guard let end = try end(scope, limit - 1) else { continue }
            throw .refused(.tooMany(things, wait: end - now))
        }
    }
}
