/// Where a program serves its metrics: a loopback port, or a Unix socket.
package enum MetricsPlace: Equatable, Sendable {
    /// IPv6 without brackets.
    case port(host: String, port: UInt16)
    /// An absolute path, short enough for a socket.
    case socket(String)
}

extension MetricsPlace {
    /// Reads `[metrics] listen`. Nil if the key is absent.
    init?(_ section: TOMLSection) throws(SettingsError) {
        guard let place = try section.value("listen", Self.parse) else { return nil }
        self = place
    }

    /// Metrics are readable without a login, so they do not leave the machine.
    private static func parse(_ text: String) throws(SettingFault) -> MetricsPlace {
        guard text.hasPrefix("unix:") else {
            let address = try ListenAddress(text)
            guard address.isLoopback else {
                throw SettingFault("must be a loopback address, or unix: and a path")
            }
            return .port(host: address.host, port: address.port)
        }
        let path = try SettingValue.absolutePath(String(text.dropFirst(5)))
        guard path.utf8.count <= 100 else {
            throw SettingFault("a socket's path has at most 100 bytes")
        }
        return .socket(path)
    }
}
