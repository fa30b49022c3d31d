import Wire

/// `[tls]`: certificates that the authority makes itself, for the broker and the page.
package struct OwnCertificates: Equatable, Sendable {
    /// The names and addresses that the certificates are for, the public one first. `localhost` and
    /// the loopback addresses are always added.
    package var hosts: [String]

    package init(hosts: [String]) { self.hosts = hosts }
}

extension OwnCertificates {
    /// Nil unless `own = true`.
    init?(_ section: TOMLSection) throws(SettingsError) {
        let hosts = try section.texts("hosts") ?? []
        for (index, host) in hosts.enumerated() where !Self.isHost(host) {
            throw section.fault("hosts", element: index, "this is not a host name or address")
        }
        guard try section.flag("own") ?? false else {
            guard hosts.isEmpty else { throw section.fault("hosts", "needs own = true") }
            return nil
        }
        guard (1...32).contains(hosts.count) else {
            throw section.fault("hosts", "must have 1 to 32 names or addresses")
        }
        self.init(hosts: hosts)
    }

    private static func isHost(_ text: String) -> Bool {
        guard (1...253).contains(text.utf8.count) else { return false }
        // Only IPv6 has colons, and here it is written without brackets.
        let address = text.contains(":") ? "[\(text)]" : text
        do throws(BrokerURI.ParseError) {
            return try BrokerURI("mqtts://\(address)").host == text
        } catch {
            return false
        }
    }
}
