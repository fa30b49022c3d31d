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
        /// Nil: the page has no button for it.
        package var button: LoginButton?

        package init(
            name: LoginProvider, issuer: String, audience: [String], keys: KeySetPlace,
            signUp: Bool, button: LoginButton? = nil
        ) {
            self.name = name
            self.issuer = issuer
            self.audience = audience
            self.keys = keys
            self.signUp = signUp
            self.button = button
        }
    }

    /// How people log in with a provider at the page.
    package struct LoginButton: Equatable, Sendable {
        /// One of the audiences.
        package var clientID: String
        /// The file whose first line is the client secret. Nil: the client is public.
        package var secretFile: String?
        /// For people.
        package var title: String
        /// Nil: the provider's own description has them.
        package var endpoints: Endpoints?

        package struct Endpoints: Equatable, Sendable {
            /// Where people log in. It may have a query.
            package var authorization: String
            /// Where codes are exchanged.
            package var token: String

            package init(authorization: String, token: String) {
                self.authorization = authorization
                self.token = token
            }
        }

        package init(
            clientID: String, secretFile: String? = nil, title: String,
            endpoints: Endpoints? = nil
        ) {
            self.clientID = clientID
            self.secretFile = secretFile
            self.title = title
            self.endpoints = endpoints
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
        let audience = try Self.audience(section)
        self.init(
            name: name,
            issuer: try section.need("issuer", section.value("issuer", Self.issuer)),
            audience: audience,
            keys: try section.need("keys", section.value("keys", Self.keys)),
            signUp: try section.flag("sign_up") ?? signUp,
            button: try Self.button(name, section, audience))
    }

    private static func button(
        _ name: LoginProvider, _ section: TOMLSection, _ audience: [String]
    ) throws(SettingsError) -> AuthoritySettings.LoginButton? {
        let secretFile = try section.value("client_secret_file", SettingValue.absolutePath)
        let title = try section.value("title", SettingValue.displayName)
        let authorization = try section.value("authorization_endpoint", endpoint)
        let token = try section.value("token_endpoint", endpoint)
        guard let clientID = try section.text("client_id") else {
            for key in ["client_secret_file", "title", "authorization_endpoint", "token_endpoint"]
            where try section.text(key) != nil {
                throw section.fault(key, "needs client_id: the page has no button without it")
            }
            return nil
        }
        guard audience.contains(clientID) else {
            throw section.fault("client_id", "must be in audience, because the tokens name it")
        }
        var endpoints: AuthoritySettings.LoginButton.Endpoints?
        switch (authorization, token) {
        case (nil, nil): break
        case (let authorization?, let token?):
            endpoints = .init(authorization: authorization, token: token)
        case (nil, _): throw section.fault("token_endpoint", "needs authorization_endpoint")
        case (_, nil): throw section.fault("authorization_endpoint", "needs token_endpoint")
        }
        return AuthoritySettings.LoginButton(
            clientID: clientID, secretFile: secretFile, title: title ?? name.description,
            endpoints: endpoints)
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
            texts.allSatisfy({ LoginAddress.isVisible($0) && $0.utf8.count <= 256 })
        else {
            throw section.fault(
                "audience", "must be a client id, or 1 to 16 different ones, each of 1 to 256 "
                    + "visible ASCII characters")
        }
        return texts
    }

    /// The text is kept exactly, with its last slash. Source: OpenID Connect Core §2, `iss`.
    private static func issuer(_ text: String) throws(SettingFault) -> String {
        guard text.utf8.count <= 255, LoginAddress.isSafe(text), !text.contains("?") else {
            throw SettingFault(
                "must be an https:// address (http:// only on loopback), without ? and #")
        }
        return text
    }

    private static func endpoint(_ text: String) throws(SettingFault) -> String {
        guard LoginAddress.isSafe(text) else {
            throw SettingFault("must be an https:// address (http:// only on loopback), without #")
        }
        return text
    }

    private static func keys(
        _ text: String
    ) throws(SettingFault) -> AuthoritySettings.KeySetPlace {
        if text.hasPrefix("/") { return .file(try SettingValue.absolutePath(text)) }
        guard LoginAddress.isSafe(text) else {
            throw SettingFault(
                "must be a key set's absolute path or https:// address (http:// only on loopback)")
        }
        return .url(text)
    }
}

/// Addresses of login providers. What is read there decides who logs in, so it never travels in
/// clear over a network.
package enum LoginAddress {
    /// Whether the text is an `https` address, or an `http` address on loopback, of at most 1024
    /// visible ASCII characters, without a user and a fragment.
    package static func isSafe(_ text: String) -> Bool {
        guard text.utf8.count <= 1024, isVisible(text),
            !text.utf8.contains(where: { "#@".utf8.contains($0) })
        else { return false }
        if let host = host(text, after: "https://") { return !host.isEmpty }
        guard let host = host(text, after: "http://") else { return false }
        do throws(BrokerURI.ParseError) {
            return try BrokerURI("mqtt://\(host)").isLoopback
        } catch {
            return false
        }
    }

    private static func host(_ text: String, after scheme: String) -> Substring? {
        guard text.hasPrefix(scheme) else { return nil }
        return text.dropFirst(scheme.count).prefix { $0 != "/" && $0 != "?" }
    }

    static func isVisible(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }
}
