package import Sessions
import Wire

extension AuthoritySettings {
    /// `[login.<name>]`: an external login provider.
    package struct Login: Equatable, Sendable {
        package var name: LoginProvider
        /// The exact `iss` value of the provider's tokens.
        package var issuer: String
        /// The authority's client ids at the provider.
        package var audience: [String]
        package var keys: KeySetPlace
        /// Whether an unknown person becomes a user at the first login.
        package var signUp: Bool

        package init(
            name: LoginProvider, issuer: String, audience: [String], keys: KeySetPlace,
            signUp: Bool
        ) {
            self.name = name
            self.issuer = issuer
            self.audience = audience
            self.keys = keys
            self.signUp = signUp
        }
    }

    /// Where a provider's JWK Set comes from.
    package enum KeySetPlace: Equatable, Sendable {
        /// An absolute path.
        case file(String)
        /// `https`, or `http` to a loopback address.
        case url(String)
    }
}

extension AuthoritySettings.Login {
    /// The key in `[login]` that is no provider.
    static let passwords = "passwords"

    /// Reads all providers, in the order of their names.
    static func all(
        _ section: TOMLSection, signUp: Bool
    ) throws(SettingsError) -> [AuthoritySettings.Login] {
        var logins: [AuthoritySettings.Login] = []
        for key in section.entries.keys.sorted() where key != passwords {
            guard let name = LoginProvider(key) else {
                throw section.nameFault(
                    key, "a provider's name has 1 to 32 of a-z, 0-9, _ and -, the first a "
                        + "letter, and is neither password nor anonymous")
            }
            logins.append(try Self(name, section.section(key), signUp: signUp))
        }
        return logins
    }

    private init(
        _ name: LoginProvider, _ section: TOMLSection, signUp: Bool
    ) throws(SettingsError) {
        self.init(
            name: name,
            issuer: try section.need("issuer", section.value("issuer", Self.issuer)),
            audience: try Self.audience(section),
            keys: try section.need("keys", section.value("keys", Self.keys)),
            signUp: try section.flag("sign_up") ?? signUp)
    }

    /// Reads one client id, or a list of them.
    private static func audience(_ section: TOMLSection) throws(SettingsError) -> [String] {
        let texts: [String]
        if case .array = section.value("audience") {
            texts = try section.texts("audience") ?? []
        } else {
            texts = [try section.need("audience", section.text("audience"))]
        }
        guard (1...16).contains(texts.count), Set(texts).count == texts.count,
            texts.allSatisfy({ isVisible($0) && $0.utf8.count <= 256 })
        else {
            throw section.fault(
                "audience", "must be a client id, or 1 to 16 different ones, each of 1 to 256 "
                    + "visible ASCII characters")
        }
        return texts
    }

    /// The text is kept exactly, with its last slash. Source: OpenID Connect Core §2, `iss`.
    private static func issuer(_ text: String) throws(SettingFault) -> String {
        guard text.hasPrefix("https://"), text.utf8.count <= 255, isVisible(text),
            !text.utf8.contains(where: { "?#@".utf8.contains($0) }),
            let host = host(text, after: "https://"), !host.isEmpty
        else {
            throw SettingFault("must be an address that begins with https://, without ? and #")
        }
        return text
    }

    private static func keys(
        _ text: String
    ) throws(SettingFault) -> AuthoritySettings.KeySetPlace {
        if text.hasPrefix("/") { return .file(try SettingValue.absolutePath(text)) }
        guard text.utf8.count <= 1024, isVisible(text),
            !text.utf8.contains(where: { "#@".utf8.contains($0) })
        else { throw SettingFault(keysSentence) }
        if let host = host(text, after: "https://"), !host.isEmpty { return .url(text) }
        // These keys decide who logs in, so the authority never fetches them in clear over a
        // network.
        guard let host = host(text, after: "http://"), isLoopback(host) else {
            throw SettingFault(keysSentence)
        }
        return .url(text)
    }

    private static let keysSentence =
        "must be a key set's absolute path or https:// address (http:// only on loopback)"

    private static func host(_ text: String, after scheme: String) -> Substring? {
        guard text.hasPrefix(scheme) else { return nil }
        return text.dropFirst(scheme.count).prefix { $0 != "/" && $0 != "?" }
    }

    private static func isLoopback(_ host: Substring) -> Bool {
        do throws(BrokerURI.ParseError) {
            return try BrokerURI("mqtt://\(host)").isLoopback
        } catch {
            return false
        }
    }

    private static func isVisible(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }
}
