import AgentCore
import BoardStore
import Cryptography
import Gate
import LinuxIO
import Mosquitto
import Sessions
import Settings
import Wire

/// The board's configuration, read from its folder with its modes checked.
struct BoardFiles {
    /// The loosest mode of a file that decides rights.
    private static let mode: UInt32 = 0o640
    private static let limit = 1_048_576

    let settings: BoardSettings
    let policy: Policy?
    private let folder: String

    init(_ place: BoardPlace) throws(AgentFailure) {
        folder = place.configDir
        let path = "\(folder)/agent.toml"
        guard let text = try Self.text(path) else {
            throw AgentFailure(.badConfiguration, "there is no \(path)")
        }
        do throws(SettingsError) {
            settings = try BoardSettings.parse(
                text, file: path, environment: Environment.value(_:))
        } catch {
            throw AgentFailure(.badConfiguration, "\(error)")
        }
        policy = try Self.policy(in: folder)
    }

    /// The policy file as it is now; nil where there is none.
    static func policy(in folder: String) throws(AgentFailure) -> Policy? {
        let path = "\(folder)/policy.toml"
        guard let text = try text(path) else { return nil }
        do throws(SettingsError) {
            return try PolicyFile.parse(text, file: path)
        } catch {
            throw AgentFailure(.badConfiguration, "\(error)")
        }
    }

    private static func text(_ path: String) throws(AgentFailure) -> String? {
        let bytes: [UInt8]
        do throws(FileFailure) {
            bytes = try PrivateFile.read(path, limit: limit, strictestMode: mode)
        } catch {
            if case .missing = error { return nil }
            throw AgentFailure(error)
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw AgentFailure(.badConfiguration, "\(path) is not UTF-8")
        }
        return text
    }

    var agentSettings: AgentSettings {
        AgentSettings(
            name: settings.name, topicRoot: settings.topicRoot, claimBase: settings.claim.base,
            claimLifetime: settings.claim.expires, offline: settings.offline,
            routes: RouteTable(settings.routes),
            queueLimit: settings.outbox.maxBytes.bytes,
            // A small outbox still has room to be read into.
            queueReserve: min(BusLink.batchReserve, settings.outbox.maxBytes.bytes / 2),
            version: Release.version,
            buildDate: Release.date, processID: Int64(ProcessIdentity.processID))
    }

    /// A sentence on the settings that are read and not acted on yet.
    var notInForce: String {
        var names = ["outbox.max_age"]
        if settings.outbox.whenFull == .dropOldest { names.append("when_full = \"drop-oldest\"") }
        return "not in force yet: \(names.joined(separator: ", ")); a full outbox refuses"
    }

    var controlPath: String { "\(settings.runDir)/agent.sock" }

    var uplinkDefaults: UplinkDefaults {
        UplinkDefaults(
            uri: settings.uplink.uri, caFile: settings.uplink.caFile,
            learnedCAFile: "\(settings.stateDir)/uplink-ca.pem",
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
            password: try busPassword(), clientName: clientName,
            filters: BusTopic.requests + settings.routes.map(\.from.description), will: will)
    }

    /// The first line of the password file.
    private func busPassword() throws(AgentFailure) -> SecretBytes? {
        guard let path = settings.bus.passwordFile else { return nil }
        do throws(FileFailure) {
            let bytes = try PrivateFile.read(path, limit: 4096, strictestMode: Self.mode)
            return SecretBytes(Array(bytes.prefix { $0 != UInt8(ascii: "\n") }))
        } catch {
            throw AgentFailure(error)
        }
    }
}

extension AgentFailure {
    init(_ failure: FileFailure) {
        switch failure {
        case .notPermitted: self.init(.notPermitted, "\(failure)")
        case .tooOpen, .foreignOwner, .wrongKind, .missing, .tooLarge:
            self.init(.badConfiguration, "\(failure)")
        case .noSpace, .inUse, .failed: self.init(.failed, "\(failure)")
        }
    }

    init(_ failure: StoreError) {
        switch failure {
        case .unsafePermissions, .keyMissing, .keyWrong, .newerSchema:
            self.init(.badConfiguration, "\(failure)")
        case .unavailable: self.init(.failed, "\(failure)", mayPass: true)
        case .corrupt, .unreadable:
            // Not replaced unasked: with the database goes the board's identity.
            self.init(.failed, """
                \(failure). Bring the state folder back from a copy. Without one, move it away \
                and start again: the board then has a new identity, so remove it at the \
                authority and run `postern-agent pair`.
                """)
        case .outOfOrder, .cryptography: self.init(.failed, "\(failure)")
        }
    }
}
