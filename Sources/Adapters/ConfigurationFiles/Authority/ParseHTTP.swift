import Sessions

/// Where Parse's REST API is mounted, and the keys that its clients send.
package struct ParseHTTP: Equatable, Sendable {
    /// The mount path begins with a slash and does not end with one.
    package var mount = "/parse"
    /// If set, clients must send it. It is in every copy of an app, so it is not a secret.
    package var restAPIKey: String?
    package var restAPIKeyFile: String?
    /// Nil: there is no master key.
    package var masterKeyFile: String?
    package var masterKeyFrom = MasterKeyPeers.loopback
    /// Other origins whose web pages may use Parse's routes.
    package var origins: [String] = []

    /// The clients that may use the master key.
    package enum MasterKeyPeers: String, Sendable, CaseIterable {
        /// Programs on this machine that connect without a proxy.
        case loopback
        case anywhere
    }

    package init() {}

    init(_ section: TOMLSection) throws(SettingsError) {
        mount = try section.value("mount", Self.mount) ?? "/parse"
        restAPIKey = try section.value("rest_api_key", Self.key)
        restAPIKeyFile = try section.value("rest_api_key_file", SettingValue.absolutePath)
        masterKeyFile = try section.value("master_key_file", SettingValue.absolutePath)
        masterKeyFrom = try section.value("master_key_from", SettingValue.choice) ?? .loopback
        origins = try Self.origins(section)
        if restAPIKey != nil, restAPIKeyFile != nil {
            throw section.fault("rest_api_key_file", "use this or rest_api_key, not both")
        }
        if masterKeyFile == nil, try section.text("master_key_from") != nil {
            throw section.fault("master_key_from", "needs master_key_file")
        }
    }

    /// Reads origins in the one form in which browsers send them.
    private static func origins(_ section: TOMLSection) throws(SettingsError) -> [String] {
        let origins = try section.texts("origins") ?? []
        for (index, origin) in origins.enumerated() where !isOrigin(origin) {
            throw section.fault(
                "origins", element: index,
                "an origin is as browsers send it: \"https://app.example\", in lower case, with a "
                    + "port only if it is not the usual one, and with no path")
        }
        return origins
    }

    /// Source: RFC 6454 §6.2.
    private static func isOrigin(_ text: String) -> Bool {
        guard text.utf8.count <= 256,
            let (scheme, usual) = [("https://", "443"), ("http://", "80")]
                .first(where: { text.hasPrefix($0.0) })
        else { return false }
        let place = text.dropFirst(scheme.count)
        let end = place.hasPrefix("[") ? place.firstIndex(of: "]").map(place.index(after:)) : nil
        let host = end.map { place[..<$0] } ?? place.prefix { $0 != ":" }
        let inHost = end == nil ? "abcdefghijklmnopqrstuvwxyz0123456789-._" : "0123456789abcdef:[]"
        guard host.utf8.count > (end == nil ? 0 : 2),
            host.utf8.allSatisfy({ inHost.utf8.contains($0) })
        else { return false }
        let port = place[host.endIndex...]
        if port.isEmpty { return true }
        guard port.hasPrefix(":"), let number = UInt16(port.dropFirst()), number > 0 else {
            return false
        }
        return port.dropFirst() == "\(number)" && "\(number)" != usual
    }

    /// Reads one to four plain names. The first one must not be a path of the console.
    private static func mount(_ text: String) throws(SettingFault) -> String {
        let names = text.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
        let own: Set<Substring> = ["postern", "console", "claim"]
        guard text.hasPrefix("/"), text.utf8.count <= 64, (1...4).contains(names.count),
            let first = names.first, !own.contains(first), names.allSatisfy(isPlain)
        else {
            throw SettingFault(
                "a mount is \"/\" and a name, as in \"/parse\", but not postern, console or claim")
        }
        return text
    }

    private static func isPlain(_ name: Substring) -> Bool {
        !name.isEmpty && name.utf8.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x5F, 0x2D: true
            default: false
            }
        }
    }

    /// The key travels in an HTTP header, so other bytes are refused.
    private static func key(_ text: String) throws(SettingFault) -> String {
        guard (1...256).contains(text.utf8.count),
            text.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else { throw SettingFault("a key has 1 to 256 visible ASCII characters") }
        return text
    }
}

extension ClassPermissions {
    /// Reads `[session.permissions]`: one flag for each of Parse's actions, under Parse's name.
    init(_ section: TOMLSection) throws(SettingsError) {
        self.init()
        for action in Action.allCases {
            if let flag = try section.flag(action.rawValue) { set(action, flag) }
        }
    }
}
