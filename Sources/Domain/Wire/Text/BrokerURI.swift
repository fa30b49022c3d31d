/// A broker's address: `mqtt://host[:port]`, `mqtts://host[:port]` or `unix:/path`.
///
/// IPv6 addresses are in brackets. There is no user, path or query: credentials are never in an
/// address. Printing and parsing are inverses.
package struct BrokerURI: Equatable, Sendable {
    package enum Scheme: String, Equatable, Sendable {
        case mqtt, mqtts, unix

        /// The port if none is given; 0 for a Unix socket.
        package var defaultPort: UInt16 {
            switch self {
            case .mqtt: 1883
            case .mqtts: 8883
            case .unix: 0
            }
        }
    }

    /// The mistake in an address, as a sentence for the person who wrote it.
    package struct ParseError: Error, Equatable, Sendable, CustomStringConvertible {
        package let description: String
    }

    package let scheme: Scheme
    /// A name or a numeric address without brackets; empty for a Unix socket.
    package let host: String
    /// 0 for a Unix socket.
    package let port: UInt16
    /// The socket's absolute path; empty unless `scheme` is `unix`.
    package let path: String

    /// Throws a `ParseError` that names the faulty part.
    package init(_ text: String) throws(ParseError) {
        if let path = text.removingPrefix("unix:") {
            try Self.checkPath(path)
            self.init(scheme: .unix, host: "", port: 0, path: String(path))
        } else if let rest = text.removingPrefix("mqtts://") {
            let (host, port) = try Self.authority(rest)
            self.init(scheme: .mqtts, host: host, port: port ?? 8883, path: "")
        } else if let rest = text.removingPrefix("mqtt://") {
            let (host, port) = try Self.authority(rest)
            self.init(scheme: .mqtt, host: host, port: port ?? 1883, path: "")
        } else {
            throw ParseError(description:
                "a broker address begins with mqtt://, mqtts:// or unix:/")
        }
    }

    private init(scheme: Scheme, host: String, port: UInt16, path: String) {
        self.scheme = scheme
        self.host = host
        self.port = port
        self.path = path
    }

    /// Whether connections stay on this machine: 127.0.0.0/8, ::1, localhost or a Unix socket.
    package var isLoopback: Bool {
        if scheme == .unix || host == "localhost" || host == "::1" { return true }
        guard let octets = Self.octets(host) else { return false }
        return octets.first == 127
    }
}

extension BrokerURI: CustomStringConvertible {
    /// The shortest address that parses to the same value.
    package var description: String {
        guard scheme != .unix else { return "unix:\(path)" }
        let name = host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host
        let suffix = port == scheme.defaultPort ? "" : ":\(port)"
        return "\(scheme.rawValue)://\(name)\(suffix)"
    }
}

// The parts of an address. Hosts are kept in lower case, so that equal hosts compare equal.
extension BrokerURI {
    private static func authority(
        _ text: Substring
    ) throws(ParseError) -> (host: String, port: UInt16?) {
        if text.utf8.contains(UInt8(ascii: "@")) {
            throw ParseError(description: "a broker address must have no user name or password")
        }
        if text.utf8.contains(where: { "/?#".utf8.contains($0) }) {
            throw ParseError(description: "a broker address ends after host and port")
        }
        if let rest = text.first == "[" ? text.dropFirst() : nil {
            guard let end = rest.firstIndex(of: "]") else {
                throw ParseError(description: "the bracket around the IPv6 address is not closed")
            }
            let tail = rest[rest.index(after: end)...]
            return (try addressV6(rest[..<end]), try port(after: tail))
        }
        let colon = text.firstIndex(of: ":") ?? text.endIndex
        return (try name(text[..<colon]), try port(after: text[colon...]))
    }

    private static func port(after text: Substring) throws(ParseError) -> UInt16? {
        guard !text.isEmpty else { return nil }
        let digits = text.dropFirst()
        guard text.first == ":", !digits.isEmpty, digits.utf8.allSatisfy(\.isDigit),
              let port = UInt16(digits), port > 0
        else { throw ParseError(description: "the port is a number from 1 to 65535") }
        return port
    }

    private static func name(_ text: Substring) throws(ParseError) -> String {
        let isName = text.utf8.allSatisfy { byte in
            byte.isDigit || (byte | 0x20).isLowerLetter || "-._".utf8.contains(byte)
        }
        guard isName, (1...253).contains(text.utf8.count) else {
            throw ParseError(description: text.isEmpty
                ? "the host is missing" : "the host has a character that no host name has")
        }
        return text.lowercased()
    }

    private static func addressV6(_ text: Substring) throws(ParseError) -> String {
        let isAddress = text.utf8.allSatisfy { byte in
            byte.isDigit || (0x61...0x66).contains(byte | 0x20) || ":.".utf8.contains(byte)
        }
        guard isAddress, (2...45).contains(text.utf8.count), text.contains(":") else {
            throw ParseError(description: "the text between the brackets is not an IPv6 address")
        }
        return text.lowercased()
    }

    private static func checkPath(_ path: Substring) throws(ParseError) {
        guard path.first == "/", path.utf8.count > 1 else {
            throw ParseError(description: "unix: is followed by an absolute path")
        }
        // sockaddr_un has room for 108 bytes, NUL included. Source: unix(7).
        guard path.utf8.count < 108, !path.utf8.contains(0) else {
            throw ParseError(description: "the path of a socket has at most 107 bytes")
        }
    }

    private static func octets(_ host: String) -> [UInt8]? {
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        // To the resolver a leading zero means octal: 0127 is 87, which is not loopback.
        let octets = parts.compactMap { part in
            UInt8(part).flatMap { String($0) == part ? $0 : nil }
        }
        return parts.count == 4 && octets.count == 4 ? octets : nil
    }
}

extension String {
    fileprivate func removingPrefix(_ prefix: String) -> Substring? {
        utf8.starts(with: prefix.utf8) ? self[...].dropFirst(prefix.count) : nil
    }
}

extension UInt8 {
    fileprivate var isDigit: Bool { (0x30...0x39).contains(self) }
    fileprivate var isLowerLetter: Bool { (0x61...0x7A).contains(self) }
}
