import AgentCore
import AgentStore
package import ConfigurationFiles
import Cryptography
import Gate
import LinuxIO
import MQTT
package import Sessions
import Wire

/// The board's configuration, read from its folder. The file modes are checked.
package struct BoardFiles {
    /// The settings read at the start. Only the routes change when the file changes.
    package private(set) var settings: BoardSettings
    private(set) var policy: Policy?
    /// The bytes of both files from which these values were read.
    private(set) var content: RuleContent
    /// Rules of the replaced board. They are in force where the files have none.
    private(set) var restored: RestoredRules
    /// Whether `agent.toml` has routes itself.
    private(set) var hasOwnRoutes: Bool
    /// Why a broken policy file was ignored; nil if it was not.
    private let policyFailure: AgentFailure?

    package init(folder: String) throws(AgentFailure) {
        try self.init(try RuleContent(folder: folder))
    }

    /// Gives up root for the state folder's owner. The agent runs as that user and could not use
    /// files that root made there.
    private static func stepDown(for settings: BoardSettings) throws(AgentFailure) {
        do throws(SystemError) {
            try ProcessOwner.stepDown(toOwnerOf: settings.stateDir)
        } catch {
            throw AgentFailure(.failed, "\(error)")
        }
    }

    /// Parses both files. Throws if either is not well-formed.
    ///
    /// `start`: the files of the running agent, whose state folder it still uses.
    init(_ content: RuleContent, since start: BoardFiles? = nil) throws(AgentFailure) {
        self.content = content
        settings = try content.settings()
        // What is kept belongs to the agent's user, and root may not trust it.
        try Self.stepDown(for: settings)
        hasOwnRoutes = !settings.routes.isEmpty
        restored = try RestoredRules(
            of: start?.settings ?? settings, policy: !content.hasPolicy, routes: !hasOwnRoutes,
            mustRead: start != nil)
        if !hasOwnRoutes { settings.routes = restored.routes }
        policy = try content.policy() ?? restored.policy
        policyFailure = nil
    }

    /// The rules in force as texts.
    var texts: BoardConfiguration {
        BoardConfiguration(
            policy: content.policyText ?? restored.policyText,
            routes: RouteFile.text(of: settings.routes))
    }

    /// The policy in force, or the one that would be.
    var policyPath: String {
        content.hasPolicy || restored.policy == nil
            ? RuleContent.policyPath(in: content.folder)
            : RestoredRules.policyPath(in: settings.stateDir)
    }

    /// Where restored rules in force are, for people. Nil if none are in force.
    var restoredWords: String? {
        RestoredRules.words(
            policy: !content.hasPolicy && restored.policy != nil,
            routes: !hasOwnRoutes && !restored.routes.isEmpty, in: settings.stateDir)
    }

    /// For requests to a running agent. Ignores a policy file that is broken by now.
    package init(askingFrom folder: String) throws(AgentFailure) {
        do throws(AgentFailure) {
            content = try RuleContent(folder: folder)
            policy = try content.policy()
            policyFailure = nil
        } catch {
            content = try RuleContent(folder: folder, withoutPolicy: true)
            policy = nil
            policyFailure = error
        }
        settings = try content.settings()
        // A running agent answers by its own.
        (restored, hasOwnRoutes) = (.none, true)
        try Self.stepDown(for: settings)
    }

    /// Takes the policy and the routes of `read`. All other settings stay as they were at the
    /// start.
    func adopting(_ read: BoardFiles) -> BoardFiles {
        var adopted = self
        adopted.content = read.content
        adopted.policy = read.policy
        (adopted.restored, adopted.hasOwnRoutes) = (read.restored, read.hasOwnRoutes)
        adopted.settings.routes = read.settings.routes
        return adopted
    }

    /// Throws the reason why an agent would not start on these files.
    func checkPolicy() throws(AgentFailure) {
        if let policyFailure { throw policyFailure }
    }

    /// Reads the policy file; nil if there is none.
    static func policy(in folder: String) throws(AgentFailure) -> Policy? {
        try RuleContent.policy(in: folder)
    }

    var agentSettings: AgentSettings {
        var agent = AgentSettings(
            name: settings.name, topicRoot: settings.topicRoot, claimBase: settings.claim.base,
            claimLifetime: settings.claim.expires, offline: settings.offline,
            routes: RouteTable(settings.routes),
            queueLimit: settings.outbox.maxBytes.bytes,
            // With a small outbox, the reserve is at most half of it.
            queueReserve: min(BusLink.batchReserve, settings.outbox.maxBytes.bytes / 2),
            queueAge: settings.outbox.maxAge,
            version: Release.version,
            buildDate: Release.date, processID: Int64(ProcessIdentity.processID))
        agent.spread = settings.uplink.spread
        agent.backup = settings.backsUpConfiguration ? texts : nil
        agent.dropsOldest = settings.outbox.whenFull == .dropOldest
        agent.discovery = switch settings.discovery {
        case .announced(let root): .announced(below: root)
        case .withdrawn(let root): .withdrawn(below: root)
        case nil: nil
        }
        return agent
    }

    var outboxSettings: OutboxSettings {
        OutboxSettings(
            settings.outbox, volatileWindow: "\(settings.runDir)/window")
    }

    /// Where the file of a prepared claim may be.
    package var claimFiles: [ClaimFile] {
        ClaimFile.places(configDir: content.folder, stateDir: settings.stateDir)
    }

    package var controlPath: String { "\(settings.runDir)/agent.sock" }

    var uplinkDefaults: UplinkDefaults {
        UplinkDefaults(
            uri: settings.uplink.uri, caFile: settings.uplink.caFile,
            identity: settings.uplink.identity,
            learnedCAFile: "\(settings.stateDir)/uplink-ca.pem",
            knownBrokerFile: "\(settings.stateDir)/uplink-mqtt5",
            allowsPlainText: settings.uplink.insecure)
    }

    func busLogin(for board: BoardIdentity, will: [UInt8]) throws(AgentFailure) -> BusLogin {
        let clientName: BusClientName
        do throws(CryptographyError) {
            clientName = try BusClientName(of: board)
        } catch {
            throw AgentFailure(.failed, "the bus client's name: \(error)", mayPass: true)
        }
        return BusLogin(
            uri: settings.bus.uri, username: settings.bus.username,
            password: try Self.busPassword(settings.bus), clientName: clientName,
            tls: settings.bus.tls,
            filters: BusTopic.requests + settings.routes.map(\.from.description), will: will)
    }

    /// Checks the files of the client certificates, before a broker asks for them. Throws if one
    /// is missing or its mode is too open.
    func checkIdentities() throws(AgentFailure) {
        for case let identity? in [settings.bus.identity, settings.uplink.identity] {
            do throws(FileFailure) {
                try PrivateFile.check(
                    identity.keyFile, strictestMode: TLSOptions.keyMode,
                    followsLinks: true)
                try PrivateFile.check(
                    identity.certificateFile, strictestMode: 0o755, followsLinks: true)
            } catch {
                throw AgentFailure(error)
            }
        }
    }

    /// Reads the first line of the password file; nil if none is configured.
    package static func busPassword(
        _ bus: BoardSettings.Bus, strictestMode: UInt32 = RuleContent.mode
    ) throws(AgentFailure) -> SecretBytes? {
        guard let path = bus.passwordFile else { return nil }
        do throws(FileFailure) {
            let bytes = try PrivateFile.read(path, limit: 4096, strictestMode: strictestMode)
            return SecretBytes(Array(bytes.prefix { $0 != UInt8(ascii: "\n") }))
        } catch {
            throw AgentFailure(error)
        }
    }
}

extension BoardSettings.Bus {
    var tls: TLSOptions { TLSOptions(caFile: caFile, identity: identity) }
}

extension TLSOptions {
    init(caFile: String?, identity: TLSIdentity?) {
        self.init(
            caFile: caFile, certificateFile: identity?.certificateFile,
            keyFile: identity?.keyFile)
    }
}
