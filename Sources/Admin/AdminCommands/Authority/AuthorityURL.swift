import Foundation

/// The address of an authority's HTTP: scheme, host and port, and a path if a proxy adds one.
struct AuthorityURL: Equatable, Sendable, CustomStringConvertible {
    /// Without a final slash. Scheme and host are in lower case.
    let description: String
    let isEncrypted: Bool
    let isLoopback: Bool
    /// Without brackets.
    let host: String
    let port: UInt16

    /// Nil for other schemes than `http` and `https`, and for an address with a user, a query or a
    /// fragment. They are not needed here, and may hold a secret.
    init?(_ text: String) {
        guard let parts = URLComponents(string: text), let scheme = parts.scheme?.lowercased(),
            ["http", "https"].contains(scheme), let host = parts.host?.lowercased(),
            !host.isEmpty, parts.user == nil, parts.password == nil, parts.query == nil,
            parts.fragment == nil
        else { return nil }
        var path = parts.percentEncodedPath
        while path.hasSuffix("/") { path.removeLast() }
        let standard = scheme == "https" ? 443 : 80
        let port = parts.port.flatMap { $0 == standard ? nil : ":\($0)" } ?? ""
        guard let number = UInt16(exactly: parts.port ?? standard), number > 0 else { return nil }
        self.host = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
        self.port = number
        description = "\(scheme)://\(host)\(port)\(path)"
        isEncrypted = scheme == "https"
        isLoopback = Self.isLoopback(host)
    }

    private static func isLoopback(_ host: String) -> Bool {
        if ["localhost", "::1", "[::1]"].contains(host) { return true }
        let octets = host.split(separator: ".", omittingEmptySubsequences: false)
        return octets.count == 4 && octets.first == "127"
            && octets.allSatisfy { UInt8($0) != nil }
    }

    /// Whether a password or token may be sent to this address.
    func isSafe(insecure: Bool) -> Bool { isEncrypted || isLoopback || insecure }
}
