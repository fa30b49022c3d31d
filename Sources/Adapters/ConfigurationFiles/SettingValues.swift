import Gate
import Sessions
import Wire

/// Parses single values of the configuration. Each function throws a sentence that says why not.
enum SettingValue {
    /// A name that people see and that the claim carries: 1 to 64 visible characters.
    static func displayName(_ text: String) throws(SettingFault) -> String {
        guard (1...64).contains(text.count), text.utf8.count <= 512,
            !text.unicodeScalars.contains(where: { scalar in
                switch scalar.properties.generalCategory {
                case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse,
                    .unassigned: true
                default: false
                }
            })
        else { throw SettingFault("a name has 1 to 64 characters, all of them visible") }
        return text
    }

    static func absolutePath(_ text: String) throws(SettingFault) -> String {
        guard text.hasPrefix("/"), text.utf8.count <= 4095 else {
            throw SettingFault("\"\(text)\" is not an absolute path")
        }
        return text
    }

    /// Where a key is: an absolute path, or `credential:` and the name of a systemd credential.
    /// Source: systemd.exec(5), `LoadCredential=`.
    static func keyPlace(_ text: String) throws(SettingFault) -> String {
        let scheme = "credential:"
        guard text.hasPrefix(scheme) else { return try absolutePath(text) }
        let name = text.dropFirst(scheme.count)
        guard (1...255).contains(name.utf8.count), !name.hasPrefix("."),
            name.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "/") })
        else {
            throw SettingFault("credential:NAME must name a file in $CREDENTIALS_DIRECTORY")
        }
        return text
    }

    /// A folder path that leaves room for a socket's name. Source: unix(7).
    static func socketFolder(_ text: String) throws(SettingFault) -> String {
        let path = try absolutePath(text)
        guard path.utf8.count <= 90 else {
            throw SettingFault("the path of a folder for sockets has at most 90 bytes")
        }
        return path
    }

    static func topicRoot(_ text: String) throws(SettingFault) -> TopicRoot {
        guard let root = TopicRoot(text) else {
            throw SettingFault("a topic root has 1 to 8 levels of letters, digits, _ and -")
        }
        return root
    }

    static func appName(_ text: String) throws(SettingFault) -> AppName {
        guard let name = AppName(text) else {
            throw SettingFault(
                "\"\(text)\" is not an app name: 1 to 32 of a-z, 0-9 and -, the first not -")
        }
        return name
    }

    static func className(_ text: String) throws(SettingFault) -> ClassName {
        guard let name = ClassName(text) else {
            throw SettingFault(
                "\"\(text)\" is not a class name: a letter, then at most 127 letters, digits and _")
        }
        return name
    }

    static func operation(_ text: String) throws(SettingFault) -> Operation {
        try choice(text)
    }

    static func topicFilter(_ text: String) throws(SettingFault) -> TopicFilter {
        guard let filter = TopicFilter(text) else {
            throw SettingFault("\"\(text)\" is not a topic filter: + and # are whole levels")
        }
        return filter
    }

    /// One of an enumeration's names. The error lists them.
    static func choice<Choice>(_ text: String) throws(SettingFault) -> Choice
    where Choice: RawRepresentable<String> & CaseIterable {
        guard let choice = Choice(rawValue: text) else {
            let names = Choice.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
            throw SettingFault("\"\(text)\" is not one of \(names)")
        }
        return choice
    }

    static func rate(_ text: String) throws(SettingFault) -> Rate {
        do throws(GrammarError) {
            return try Rate(text)
        } catch {
            throw SettingFault(error.text)
        }
    }

    /// A duration that is not zero.
    static func span(_ text: String) throws(SettingFault) -> Duration {
        do throws(DurationText.Invalid) {
            let span = try DurationText.parse(text)
            if span > .zero { return span }
        } catch {
            throw SettingFault(error.description)
        }
        throw SettingFault("must be longer than 0 s")
    }

    /// A spread in whole seconds, at most an hour. Zero is allowed.
    static func spread(_ text: String) throws(SettingFault) -> Duration {
        let span: Duration
        do throws(DurationText.Invalid) {
            span = try DurationText.parse(text)
        } catch {
            throw SettingFault(error.description)
        }
        guard span <= FleetSpread.longest, span.milliseconds % 1000 == 0 else {
            throw SettingFault("must be whole seconds, and at most an hour")
        }
        return span
    }

    /// An `http` or `https` address without query and fragment. A slash at its end is removed.
    static func httpURL(_ text: String) throws(SettingFault) -> String {
        guard text.utf8.count <= 1024, isPlain(text),
            let scheme = ["https://", "http://"].first(where: text.hasPrefix),
            let host = text.dropFirst(scheme.count).split(
                separator: "/", omittingEmptySubsequences: false).first, !host.isEmpty,
            !text.utf8.contains(where: { "?#@".utf8.contains($0) })
        else {
            throw SettingFault("must be an address that begins with https:// or http://")
        }
        return text.hasSuffix("/") ? String(text.dropLast()) : text
    }

    /// The address of the claim page, to which `#` and the claim are appended.
    static func claimBase(_ text: String) throws(SettingFault) -> String {
        let schemes = ["https://", "http://", "postern://"]
        guard text.utf8.count <= 1024, isPlain(text), !text.utf8.contains(UInt8(ascii: "#")),
            schemes.contains(where: { text.hasPrefix($0) && text.utf8.count > $0.utf8.count })
        else {
            throw SettingFault("must be an address that begins with https:// and has no #")
        }
        return text
    }

    private static func isPlain(_ text: String) -> Bool {
        text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }
}

/// A server's listen address: `127.0.0.1:8080`, `[::1]:8080`, `localhost:8080`.
struct ListenAddress: Equatable {
    let host: String
    let port: UInt16

    init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    /// Uses the grammar of a broker's address, but requires the port.
    init(_ text: String) throws(SettingFault) {
        let sentence = "must be an address with its port, such as 127.0.0.1:8080"
        do throws(BrokerURI.ParseError) {
            let address = try BrokerURI("mqtt://\(text)")
            host = address.host
            port = address.port
        } catch {
            throw SettingFault(sentence)
        }
        guard text.hasSuffix(":\(port)") else { throw SettingFault(sentence) }
    }

    /// Whether only this machine can connect; see `BrokerURI.isLoopback`.
    var isLoopback: Bool {
        do throws(BrokerURI.ParseError) {
            return try BrokerURI("mqtt://\(authority)").isLoopback
        } catch {
            return false
        }
    }

    /// Host and port as in a URL, with IPv6 in brackets.
    var authority: String {
        host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]:\(port)" : "\(host):\(port)"
    }
}

/// The least important level that the log shows.
package enum LogLevel: String, Sendable, CaseIterable {
    case trace, debug, info, notice, warning, error, critical
}
