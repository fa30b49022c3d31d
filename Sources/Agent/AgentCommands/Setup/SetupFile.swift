import AgentService
import ConfigurationFiles
import LinuxIO
import Wire

/// The `agent.toml` that `setup` writes: the person's answers and the bus, but no other defaults.
struct SetupFile {
    let name: String
    let uplink: BrokerURI
    let insecure: Bool
    let claimBase: String?
    let caFile: String?
    /// The bus. Nil means the one that the package set up, or else mosquitto with Debian's
    /// defaults.
    let bus: BrokerURI?
    /// Whether the authority keeps the board's policy and routes.
    let backsUpConfiguration: Bool
    /// The folder of `agent.toml`.
    let folder: String
    /// The command that writes the file, for people.
    var author = "setup"

    /// The group that may read the configuration, if it exists: the agent's.
    private static let group = "postern"
    private static let packagedBus = "unix:/run/postern-bus/bus.sock"

    var text: String {
        var sections = [
            "# Made by `postern-agent \(author)`. All keys: CONFIGURATION.md in "
                + "/usr/share/doc/postern-agent.",
            nameLine,
        ]
        sections.append("\n[bus]                                # the board's own broker")
        sections += busLines
        sections.append(uplinkSection)
        if let claimBase {
            sections.append("\n[claim]                              # what the pairing code opens")
            sections.append("base = \(TOMLText.quoted(claimBase))")
            if let caFile, isOnHost(ofPage: claimBase) {
                sections.append("ca_file = \(TOMLText.quoted(caFile))")
            }
        }
        if backsUpConfiguration {
            sections.append("\n[backup]                             # for a board that replaces it")
            sections.append("configuration = true")
        }
        return sections.joined(separator: "\n") + "\n"
    }

    /// Whether the broker and this page are on one host. An authority with its own CA then uses it
    /// for both.
    private func isOnHost(ofPage page: String) -> Bool {
        let host = page.split(separator: "/", omittingEmptySubsequences: true).dropFirst().first
        guard page.hasPrefix("https://"), let host, let place = try? BrokerURI("mqtts://\(host)")
        else { return false }
        return place.host == uplink.host
    }

    var nameLine: String { "name = \(TOMLText.quoted(name))" }

    var uplinkSection: String {
        var lines = [
            "\n[uplink]                             # shared with the authority",
            "uri = \(TOMLText.quoted(uplink.description))",
        ]
        if let caFile { lines.append("ca_file = \(TOMLText.quoted(caFile))") }
        if uplink.scheme == .mqtt, insecure, !uplink.isLoopback { lines.append("insecure = true") }
        return lines.joined(separator: "\n")
    }

    private var busLines: [String] {
        let password = "\(folder)/bus-password"
        guard PrivateFile.isThere(password) else {
            return ["uri = \(TOMLText.quoted(bus?.description ?? "mqtt://127.0.0.1:1883"))"]
        }
        return [
            "uri = \(TOMLText.quoted(bus?.description ?? Self.packagedBus))",
            "username = \"postern-agent\"", "password_file = \(TOMLText.quoted(password))",
        ]
    }

    /// Throws wrong usage if an answer is not valid in `agent.toml`.
    func check(at path: String) throws(AgentFailure) {
        do throws(SettingsError) {
            _ = try BoardSettings.parse(text, file: path) { _ in nil }
        } catch {
            let isInClear = uplink.scheme == .mqtt && !uplink.isLoopback && !insecure
            throw AgentFailure(
                .usage, isInClear
                    ? "mqtt:// is not encrypted: use mqtts://, or allow it with --insecure"
                    : error.message)
        }
    }

    /// Writes the CA's certificate first, then `text` as the file that names it.
    func write(
        _ text: String, to path: String, trust: UplinkTrust
    ) throws(AgentFailure) {
        do throws(FileFailure) {
            try PrivateFolder.prepare(folder, mode: 0o755)
            if case .fetched(let pem) = trust.authority {
                try PrivateFile.write(
                    UplinkTrust.path(in: folder), Array(pem.utf8), mode: 0o644)
            }
            let isRoot = ProcessIdentity.effectiveUser == 0
            try PrivateFile.write(
                path, Array(text.utf8), mode: 0o640,
                group: isRoot ? ProcessOwner.group(named: Self.group) : nil)
        } catch {
            throw AgentFailure(error)
        }
    }
}
