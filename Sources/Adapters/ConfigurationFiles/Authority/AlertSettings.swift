package import Sessions
import Wire

/// `[alerts]`: when a state of a board is an alert, and where alerts are sent.
package struct AlertSettings: Equatable, Sendable {
    package var rules = AlertRules()

    package var webhook: Webhook?
    package var ntfy: Ntfy?
    package var mail: Mail?
    /// Nil: no alerts go to browsers.
    package var push: PushSettings?
    /// PEM file of CAs for all channels. Nil: the system's store.
    package var caFile: String?
    /// Whether plain text to other machines is allowed.
    package var insecure: Bool

    package struct Webhook: Equatable, Sendable {
        package var url: String
        /// The secret that signs each message.
        package var secretFile: String
    }

    package struct Ntfy: Equatable, Sendable {
        /// The address with the topic.
        package var url: String
        package var tokenFile: String?
    }

    package struct Mail: Equatable, Sendable {
        /// `smtps://host:port`, or `smtp://host:port`.
        package var server: String
        /// Whether `smtp://` must change to TLS before anything is sent. False only on loopback, or
        /// if `insecure` is set.
        package var demandsTLS: Bool
        package var username: String?
        package var passwordFile: String?
        package var from: String
        package var to: [String]
    }
}

extension AlertSettings {
    init(_ section: TOMLSection, heartbeat: Duration) throws(SettingsError) {
        rules = try Self.rules(section, heartbeat)
        caFile = try section.value("ca_file", SettingValue.absolutePath)
        insecure = try section.flag("insecure") ?? false
        webhook = try Self.webhook(section, insecure)
        ntfy = try Self.ntfy(section, insecure)
        mail = try Self.mail(section, insecure)
        push = try PushSettings(section)
    }

    private static func rules(
        _ section: TOMLSection, _ heartbeat: Duration
    ) throws(SettingsError) -> AlertRules {
        var rules = AlertRules()
        // A board that is heard once in each heartbeat is not offline.
        let shortest = heartbeat * 2
        rules.offlineAfter = try section.value("offline_after", SettingValue.span)
            ?? max(rules.offlineAfter, shortest)
        guard rules.offlineAfter >= shortest else {
            throw section.fault("offline_after", "must be at least two heartbeats")
        }
        rules.silentAfter = try section.value("silent_after", SettingValue.span)
            ?? rules.silentAfter
        rules.queueAfter = try section.value("queue_after", SettingValue.span) ?? rules.queueAfter
        rules.fullWithin = try section.value("full_within", SettingValue.span) ?? rules.fullWithin
        if let count = try section.count("refused_per_hour", within: 1...1_000_000_000) {
            rules.refusedPerHour = Int64(count)
        }
        rules.ending = try ending(section) ?? rules.ending
        return rules
    }

    /// An empty list: no session's end is announced.
    private static func ending(_ section: TOMLSection) throws(SettingsError) -> [Duration]? {
        guard let texts = try section.texts("ending") else { return nil }
        guard texts.count <= 8 else { throw section.fault("ending", "must be at most 8 spans") }
        var spans: [Duration] = []
        for (index, text) in texts.enumerated() {
            do throws(SettingFault) { spans.append(try SettingValue.span(text)) } catch {
                throw section.fault("ending", element: index, error.sentence)
            }
        }
        return spans.sorted(by: >)
    }

    private static func webhook(
        _ section: TOMLSection, _ insecure: Bool
    ) throws(SettingsError) -> Webhook? {
        let file = try section.value("webhook_secret_file", SettingValue.absolutePath)
        guard let url = try address(section, "webhook", insecure) else {
            guard file == nil else {
                throw section.fault("webhook_secret_file", "needs webhook")
            }
            return nil
        }
        guard let file else {
            throw section.fault(
                "webhook_secret_file", "is missing: its secret signs each message")
        }
        return Webhook(url: url, secretFile: file)
    }

    private static func ntfy(
        _ section: TOMLSection, _ insecure: Bool
    ) throws(SettingsError) -> Ntfy? {
        let file = try section.value("ntfy_token_file", SettingValue.absolutePath)
        guard let url = try address(section, "ntfy", insecure) else {
            guard file == nil else { throw section.fault("ntfy_token_file", "needs ntfy") }
            return nil
        }
        return Ntfy(url: url, tokenFile: file)
    }

    private static func mail(
        _ section: TOMLSection, _ insecure: Bool
    ) throws(SettingsError) -> Mail? {
        let username = try section.value("smtp_username", Self.login)
        let file = try section.value("smtp_password_file", SettingValue.absolutePath)
        let from = try section.value("email_from", Self.mailbox)
        let to = try section.texts("email_to")
        guard let server = try section.value("smtp", Self.server) else {
            let others: [(String, Bool)] = [
                ("smtp_username", username != nil), ("smtp_password_file", file != nil),
                ("email_from", from != nil), ("email_to", to != nil),
            ]
            for (key, isThere) in others where isThere { throw section.fault(key, "needs smtp") }
            return nil
        }
        guard (username == nil) == (file == nil) else {
            throw section.fault(
                username == nil ? "smtp_password_file" : "smtp_username",
                "smtp_username and smtp_password_file need each other")
        }
        let isPlain = server.hasPrefix("smtp://")
        return Mail(
            server: server,
            demandsTLS: isPlain && !insecure && !isLoopback(server.dropFirst("smtp://".count)),
            username: username, passwordFile: file, from: try section.need("email_from", from),
            to: try receivers(section, to))
    }

    private static func receivers(
        _ section: TOMLSection, _ to: [String]?
    ) throws(SettingsError) -> [String] {
        let to = try section.need("email_to", to)
        guard (1...20).contains(to.count) else {
            throw section.fault("email_to", "must be 1 to 20 addresses")
        }
        for (index, text) in to.enumerated() {
            do throws(SettingFault) { _ = try mailbox(text) } catch {
                throw section.fault("email_to", element: index, error.sentence)
            }
        }
        return to
    }

    /// An `https` address, or `http` on loopback or if `insecure` is set.
    private static func address(
        _ section: TOMLSection, _ key: String, _ insecure: Bool
    ) throws(SettingsError) -> String? {
        guard let text = try section.value(key, Self.url) else { return nil }
        guard text.hasPrefix("https://") || insecure || isLoopback(text.dropFirst(7)) else {
            throw section.fault(key, "plain HTTP outside loopback: use https://, or, without "
                + "encryption, insecure = true")
        }
        return text
    }

    /// It may have a query, and no name, password or fragment.
    private static func url(_ text: String) throws(SettingFault) -> String {
        guard text.utf8.count <= 2048, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
            let scheme = ["https://", "http://"].first(where: text.hasPrefix),
            let host = text.dropFirst(scheme.count).split(
                separator: "/", omittingEmptySubsequences: false).first, !host.isEmpty,
            !host.utf8.contains(where: { "?@".utf8.contains($0) }),
            !text.utf8.contains(UInt8(ascii: "#"))
        else { throw SettingFault("must be an address that begins with https://") }
        return text
    }

    private static func server(_ text: String) throws(SettingFault) -> String {
        let sentence = "must be smtps://host:port, or smtp://host:port"
        guard let scheme = ["smtps://", "smtp://"].first(where: text.hasPrefix) else {
            throw SettingFault(sentence)
        }
        let place = String(text.dropFirst(scheme.count))
        do throws(SettingFault) { _ = try ListenAddress(place) } catch {
            throw SettingFault(sentence)
        }
        return text
    }

    private static func login(_ text: String) throws(SettingFault) -> String {
        guard (1...256).contains(text.utf8.count),
            !text.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7F })
        else { throw SettingFault("must have 1 to 256 characters, all of them visible") }
        return text
    }

    /// A plain address, without a name. Source: RFC 5321 §4.1.2, without quoted forms.
    private static func mailbox(_ text: String) throws(SettingFault) -> String {
        let parts = text.split(separator: "@", omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ !$0.isEmpty }), text.utf8.count <= 254,
            text.utf8.allSatisfy({ byte in
                (0x21...0x7E).contains(byte) && !"<>()[],;:\\\"".utf8.contains(byte)
            })
        else { throw SettingFault("\"\(text)\" is not an e-mail address such as ada@example.com") }
        return text
    }

    /// `place` is a host, with a port or a path.
    static func isLoopback(_ place: Substring) -> Bool {
        let host = place.prefix { $0 != "/" && $0 != "?" }
        do throws(BrokerURI.ParseError) {
            return try BrokerURI("mqtt://\(host)").isLoopback
        } catch {
            return false
        }
    }
}
