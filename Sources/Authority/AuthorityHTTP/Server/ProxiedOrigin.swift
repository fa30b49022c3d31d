import HTTPTypes
import Hummingbird

/// Finds the client's address behind the proxies that the configuration names.
///
/// Ignores `X-Forwarded-For` from any other peer. Otherwise a client could choose the address under
/// which its wrong passwords count.
struct ProxiedOrigin: Sendable {
    /// Addresses in the form of `plain`: IPv6 in lower case and without brackets.
    let proxies: Set<String>

    /// The client's address: the peer's own, unless the peer is one of the proxies.
    func origin(of request: Request, from peer: String) -> String {
        guard proxies.contains(Self.plain(peer)), let name = HTTPFieldName.forwardedFor else {
            return peer
        }
        let entries = request.headers[values: name].flatMap {
            $0.split(separator: ",", omittingEmptySubsequences: false)
        }
        return origin(entries.map { Self.address(String($0)) }) ?? peer
    }

    /// Each proxy appends its own peer. So the last address that is not one of our proxies is the
    /// client's. A malformed entry ends the search, because nothing before it can be trusted.
    private func origin(_ entries: [String?]) -> String? {
        for entry in entries.reversed() {
            guard let entry else { return nil }
            if !proxies.contains(entry) { return entry }
        }
        return nil
    }

    /// Parses an address, with or without brackets and port; nil if it is malformed.
    static func address(_ entry: String) -> String? {
        var text = Substring(entry.drop { $0 == " " || $0 == "\t" })
        while let last = text.last, last == " " || last == "\t" { text.removeLast() }
        if text.hasPrefix("[") {
            guard let end = text.firstIndex(of: "]") else { return nil }
            text = text[text.index(after: text.startIndex)..<end]
        } else if text.filter({ $0 == ":" }).count == 1 {
            text = text.prefix { $0 != ":" }
        }
        let plain = plain(String(text))
        guard (2...45).contains(plain.utf8.count),
            plain.utf8.allSatisfy({ "0123456789abcdef.:".utf8.contains($0) }),
            plain.contains(".") || plain.contains(":")
        else { return nil }
        return plain
    }

    /// Lower case, and IPv4 in its own form even if a socket shows it as IPv6.
    static func plain(_ address: String) -> String {
        let text = address.lowercased()
        let mapped = "::ffff:"
        return text.hasPrefix(mapped) && text.contains(".")
            ? String(text.dropFirst(mapped.count)) : text
    }
}
