import AgentService
import ArgumentParser
import ConfigurationFiles
import LinuxIO
import MQTT
import Sessions
import Wire

/// `postern-agent setup`: asks for what the board cannot know, and writes `agent.toml`.
struct SetupCommand: AgentVerb {
    static let configuration = CommandConfiguration(
        commandName: "setup", abstract: "Write this board's configuration.",
        discussion: """
            Asks for what no flag gives: the board's name, the upstream broker, the authority's \
            page. If the system's certificates do not verify the broker, it asks for the \
            fingerprint of the broker's CA, which `postern-authority tls show` prints, fetches \
            that CA's certificate from the broker and keeps it as uplink-ca.pem beside agent.toml. \
            An existing file is not changed without --replace.
            """)

    @OptionGroup var place: BoardPlace

    @Option(help: "The board's name, for people.")
    var name: String?

    @Option(help: ArgumentHelp(
        "The broker that boards and authority share, such as mqtts://home.lan:8883.",
        valueName: "uri"))
    var uplink: String?

    @Option(help: ArgumentHelp(
        "The authority's page, such as https://home.lan:8443.", valueName: "url"))
    var claimBase: String?

    @Option(help: ArgumentHelp("A PEM file with the CA of the broker.", valueName: "file"))
    var caFile: String?

    @Option(help: ArgumentHelp(
        "The SHA-256 fingerprint of the CA of the broker.", valueName: "fingerprint"))
    var caFingerprint: String?

    @Option(help: ArgumentHelp(
        "The board's own broker; default: the one that the package set up.", valueName: "uri"))
    var bus: String?

    @Flag(help: ArgumentHelp(
        "Send the board's policy and routes to the authority, for a board that replaces it, and "
            + "take those of a board that this one replaces."))
    var backupConfiguration = false

    @Flag(help: "Allow unencrypted mqtt:// to another machine.")
    var insecure = false

    @Flag(help: "Replace an existing agent.toml, and the CA that was kept beside it.")
    var replace = false

    func validate() throws {
        guard caFile == nil || caFingerprint == nil else {
            throw ValidationError("use --ca-file or --ca-fingerprint, not both")
        }
    }

    func perform() throws(AgentFailure) -> ExitStatus {
        guard place.configDir.hasPrefix("/") else {
            throw AgentFailure(
                .usage, "--config-dir must be an absolute path: agent.toml names files in it")
        }
        let path = RuleContent.agentPath(in: place.configDir)
        guard replace || !PrivateFile.isThere(path) else {
            throw AgentFailure(
                .usage, "\(path) exists and was not changed; edit it, or use --replace")
        }
        let questions = SetupQuestions()
        let name = if let name { name } else { try questions.name() }
        let uplink = if let uplink { try Self.broker(uplink) } else { try questions.broker() }
        let page = if let claimBase {
            SetupQuestions.claimBase(claimBase)
        } else {
            try questions.claimBase(for: uplink)
        }
        let trust = try UplinkTrust.settle(
            uplink, caFile: caFile, fingerprint: caFingerprint, questions,
            folder: place.configDir, replaces: replace)
        let backsUp = if backupConfiguration { true } else {
            try questions.backsUpConfiguration()
        }
        let bus = if let bus { try Self.broker(bus) } else { BrokerURI?.none }
        let file = SetupFile(
            name: name, uplink: uplink, insecure: insecure, claimBase: page,
            caFile: trust.caFile(in: place.configDir),
            bus: bus, backsUpConfiguration: backsUp,
            folder: place.configDir)
        try file.check(at: path)
        try file.write(file.text, to: path, trust: trust)
        try report(path, trust)
        return trust.isWorking ? .ok : .degraded
    }

    private static func broker(_ text: String) throws(AgentFailure) -> BrokerURI {
        do throws(BrokerURI.ParseError) {
            return try BrokerURI(text)
        } catch {
            throw AgentFailure(.usage, "\"\(text)\": \(error.description)")
        }
    }

    private func report(_ path: String, _ trust: UplinkTrust) throws(AgentFailure) {
        if place.json {
            let answer: [String: JSONValue] = [
                "file": .string(path), "reached": .bool(trust.isWorking),
                "trust": trust.isWorking ? .string(trust.words) : .null,
                "note": trust.fault.map { .string($0) } ?? .null,
            ]
            return ProcessEnd.say(JSONValue.object(answer).text, to: .output)
        }
        ProcessEnd.say("✓ \(path)", to: .error)
        ProcessEnd.say(
            trust.fault.map { "✗ the broker: \($0)" } ?? "✓ the broker answers; \(trust.words)",
            to: .error)
        ProcessEnd.say(
            trust.isUntried
                ? "next: check that address and that the authority runs, then run "
                    + "`postern-agent setup --replace`: it looks for the broker's CA again"
                : "next: start the agent (sudo systemctl start postern-agent), then run "
                    + "`sudo postern-agent pair`", to: .error)
    }
}
