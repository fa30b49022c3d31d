/// `[alerts] push`: alerts to the browsers of people who ask for them.
package struct PushSettings: Equatable, Sendable {
    /// The push services to send to, and nowhere else, because a browser names the address. Each is
    /// a host, `*.` before a domain for all hosts below it, or `http://` with a loopback address.
    package let services: [String]

    /// Those of Chrome and most others, Firefox, Safari, and Edge.
    package static let known = [
        "fcm.googleapis.com", "updates.push.services.mozilla.com", "web.push.apple.com",
        "*.notify.windows.com",
    ]

    package init(services: [String] = known) { self.services = services }

    /// Nil: `push` is not true.
    init?(_ section: TOMLSection) throws(SettingsError) {
        let named = try section.texts("push_services")
        guard try section.flag("push") ?? false else {
            guard named == nil else { throw section.fault("push_services", "needs push = true") }
            return nil
        }
        let services = named ?? Self.known
        guard (1...20).contains(services.count) else {
            throw section.fault("push_services", "must be 1 to 20 hosts")
        }
        for (index, text) in services.enumerated() where !Self.isService(text) {
            throw section.fault(
                "push_services", element: index,
                "\"\(text)\" is not a host such as push.example.com or *.example.com")
        }
        self.services = services
    }

    /// Whether messages may be sent to this address: `https`, its host alone, and a path.
    package func permits(_ endpoint: String) -> Bool {
        guard endpoint.utf8.count <= 1024,
            endpoint.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
            !endpoint.utf8.contains(UInt8(ascii: "#")),
            let scheme = ["https://", "http://"].first(where: endpoint.hasPrefix),
            let end = endpoint.dropFirst(scheme.count).firstIndex(of: "/")
        else { return false }
        guard scheme == "https://" else { return services.contains(String(endpoint[..<end])) }
        let host = endpoint[..<end].dropFirst(scheme.count)
        return Self.isHost(host) && services.contains { service in
            service.hasPrefix("*.") ? host.hasSuffix(service.dropFirst()) : host == service
        }
    }

    private static func isService(_ text: String) -> Bool {
        guard text.hasPrefix("http://") else {
            return isHost(text.hasPrefix("*.") ? text.dropFirst(2) : text[...])
        }
        return AlertSettings.isLoopback(text.dropFirst("http://".count))
            && !text.dropFirst("http://".count).contains("/")
    }

    private static func isHost(_ text: Substring) -> Bool {
        text.utf8.count <= 253 && text.contains(".") && !text.hasPrefix(".")
            && !text.hasSuffix(".") && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                    UInt8(ascii: "."), UInt8(ascii: "-"): true
                default: false
                }
            }
    }
}
