package import AuthorityCore
import AuthorityStore
package import ConfigurationFiles
import Cryptography
import Foundation
import LinuxIO
package import Logging
package import Sessions
import Subprocess
import SystemPackage
package import Wire

/// A mosquitto that the authority runs: it writes the files and keeps the process running.
///
/// The access file is computed from the store before each start. So a file that was lost in a power
/// cut needs no repair.
package struct EmbeddedBroker: Sendable {
    package static let username = "postern-authority"

    let folder: String
    let host: String
    let port: UInt16
    let root: TopicRoot
    let discovery: TopicRoot
    let password: SecretBytes
    /// Nil: no TLS.
    var tls: BrokerTLS?
    package let bell = ReloadBell()
    package let consumers = ConnectedConsumers()
    let logger: Logger

    /// The broker's certificate, and the CA for client certificates if clients must show one.
    package struct BrokerTLS: Sendable {
        let files: TLSIdentity
        let clientCAFile: String?

        package init(files: TLSIdentity, clientCAFile: String?) {
            self.files = files
            self.clientCAFile = clientCAFile
        }
    }

    package init(
        folder: String, host: String, port: UInt16, root: TopicRoot, password: SecretBytes,
        discovery: TopicRoot = .homeAssistant, tls: BrokerTLS? = nil, logger: Logger
    ) {
        (self.folder, self.host, self.port) = (folder, host, port)
        (self.root, self.password, self.tls) = (root, password, tls)
        self.discovery = discovery
        self.logger = logger
    }

    /// The socket for the authority's own connection to a broker with TLS. The broker's certificate
    /// may be for any names, and this socket needs none.
    package static func socket(in folder: String) -> String { "\(folder)/authority.sock" }

    /// Runs the broker until the task is cancelled. A broker that ends is started again.
    package func run(
        accounts: @escaping @Sendable () async throws -> [BrokerAccount]
    ) async throws {
        let program = try Self.find(
            "mosquitto", in: ["/usr/sbin", "/usr/local/sbin", "/usr/bin", "/usr/local/bin"])
        let plugin = try Self.findPlugin()
        var pauses = BackOff()
        while !Task.isCancelled {
            do {
                try write(plugin: plugin, accounts: try await accounts())
            } catch AuthorityError.failed(layer: StoreOpening.away, let text) {
                logger.error("the broker waits for the database: \(text)")
                await pause(pauses.next())
                continue
            }
            let started = ContinuousClock.now
            await runOnce(program)
            if Task.isCancelled { return }
            if ContinuousClock.now - started > .seconds(30) { pauses = BackOff() }
            logger.error("mosquitto has ended and is started again")
            await pause(pauses.next())
        }
    }

    /// The shell that runs the broker. When the authority's end of its input closes, even after
    /// SIGKILL, the shell ends the broker. So no broker outlives its authority. The shell passes on
    /// SIGHUP: mosquitto then reads its certificate again.
    ///
    /// The kernel limits the broker's memory. The broker's own `memory_limit` also subtracts memory
    /// that it never added. In 2.0.11, 40 wrong logins take the count below zero, and then the
    /// broker lets no client in.
    private static let script = """
        trap 'kill -HUP "$broker" 2>/dev/null' HUP
        exec 3<&0 </dev/null
        (ulimit -d \(dataLimit); exec "$1" -c "$2") 3<&- & broker=$!
        trap 'kill "$broker" 2>/dev/null' TERM
        (trap - TERM HUP; read -r _ <&3; kill "$broker" 2>/dev/null) & watch=$!
        exec 3<&-
        while kill -0 "$broker" 2>/dev/null; do wait "$broker"; code=$?; done
        kill "$watch" 2>/dev/null
        exit "$code"
        """

    /// In KiB: 1 GiB, enough for about 100,000 boards and their queued messages.
    private static let dataLimit = 1 << 20

    private func runOnce(_ program: String) async {
        consumers.forget()
        var options = PlatformOptions()
        // Mosquitto saves queued messages before it ends.
        options.teardownSequence = [.gracefulShutDown(allowedDurationToNextStep: .seconds(5))]
        let rings = bell.rings()
        do {
            _ = try await Subprocess.run(
                .path("/bin/sh"),
                arguments: ["-c", Self.script, "postern-broker", program, configuration],
                platformOptions: options, input: .inputWriter, output: .discarded,
                error: .sequence
            ) { execution in
                let waiter = Task {
                    for await _ in rings {
                        tellOfCertificate { try execution.send(signal: .terminalClosed) }
                    }
                }
                defer { waiter.cancel() }
                for try await line in execution.standardError.strings() { tell(line) }
            }
        } catch {
            logger.error("mosquitto could not be run: \(error)")
        }
    }

    /// Makes the broker read its certificate again; connections stay.
    ///
    /// Source: mosquitto(8), Signals.
    private func tellOfCertificate(_ hangUp: () throws -> Void) {
        do {
            try hangUp()
            logger.notice("the broker uses a new certificate")
        } catch {
            logger.error("the broker could not load its new certificate: \(error)")
        }
    }

    /// Logs a line of mosquitto: as an error if it contains "Error", else for debugging.
    private func tell(_ line: String) {
        let text = line.trimmingCharacters(in: .whitespacesAndNewlines)
        consumers.note(text)
        let level: Logger.Level = text.contains("Error") ? .error : .debug
        logger.log(level: level, "mosquitto: \(text)")
    }

    private var configuration: String { "\(folder)/mosquitto.conf" }
    private var accessFile: String { "\(folder)/dynamic-security.json" }

    private func write(plugin: String, accounts: [BrokerAccount]) throws {
        try PrivateFolder.prepare(folder)
        try PrivateFile.write(configuration, Array(configurationText(plugin).utf8))
        let own = BrokerAccount(
            username: Self.username, password: password, clientID: nil,
            role: BrokerRole(dynamicSecurityUnder: root, discovery: discovery))
        try PrivateFile.write(accessFile, try AccessFile(accounts: [own] + accounts).bytes())
    }

    private func configurationText(_ plugin: String) -> String {
        let user = ProcessIdentity.effectiveUser == 0 ? "user root\n" : ""
        return """
            # Made by postern-authority at each start; changes here are lost.
            \(user)listener \(port) \(host)
            \(encryption)allow_anonymous false
            plugin \(plugin)
            plugin_opt_config_file \(accessFile)
            persistence true
            persistence_location \(folder)/
            autosave_interval 60
            max_packet_size 2097152
            max_inflight_messages 2048
            # What boards send waits here while the authority cannot store it.
            max_queued_messages 200000
            max_queued_bytes 268435456
            set_tcp_nodelay true
            log_dest stderr
            log_type error
            log_type warning
            log_type notice

            """
    }

    /// TLS 1.2 or later: `tls_version` is the lowest version.
    /// Source: mosquitto.conf(5), 2.0.11.
    private var encryption: String {
        guard let tls else { return "" }
        var lines = [
            "certfile \(tls.files.certificateFile)", "keyfile \(tls.files.keyFile)",
            "tls_version tlsv1.2",
        ]
        if let clientCAFile = tls.clientCAFile {
            lines += ["cafile \(clientCAFile)", "require_certificate true"]
        }
        lines.append("listener 0 \(Self.socket(in: folder))")
        return lines.map { $0 + "\n" }.joined()
    }

    package static func find(_ name: String, in folders: [String]) throws -> String {
        let path = LinuxIO.Environment.value("PATH") ?? ""
        let candidates = path.split(separator: ":").map(String.init) + folders
        guard let found = candidates.lazy.map({ "\($0)/\(name)" })
            .first(where: FileManager.default.isExecutableFile(atPath:))
        else {
            throw AuthorityError.failed(
                layer: "broker", text: "\(name) is not installed (apt install \(name))")
        }
        return found
    }

    package static func findPlugin() throws -> String {
        let name = "mosquitto_dynamic_security.so"
        let folders = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
                       "/usr/lib/arm-linux-gnueabihf", "/usr/lib", "/usr/local/lib"]
        guard let found = folders.lazy.map({ "\($0)/\(name)" })
            .first(where: FileManager.default.fileExists(atPath:))
        else {
            throw AuthorityError.failed(
                layer: "broker", text: "\(name) is not installed; install mosquitto's package")
        }
        return found
    }
}

/// The plugin's file, computed from the store: no access by default, and one role for each account.
///
/// Source: mosquitto 2.0.11, `plugins/dynamic-security`.
struct AccessFile {
    let accounts: [BrokerAccount]

    func bytes() throws -> [UInt8] {
        let kinds = ["publishClientSend", "publishClientReceive", "subscribe", "unsubscribe"]
        let clients = try accounts.map { account in
            let entry = try MosquittoPassword.entry(for: account.password)
            var members: [String: JSONValue] = [
                "username": .string(account.username), "password": .string(entry.password),
                "salt": .string(entry.salt), "iterations": .integer(Int64(entry.iterations)),
                "roles": .array([.object(["rolename": .string(account.role.name)])]),
            ]
            members["clientid"] = account.clientID.map(JSONValue.string)
            members["textdescription"] = account.owner.map(JSONValue.string)
            return JSONValue.object(members)
        }
        let roles = accounts.map { account in
            JSONValue.object([
                "rolename": .string(account.role.name), "acls": account.role.json,
            ])
        }
        return JSONValue.object([
            "defaultACLAccess": .object(
                Dictionary(uniqueKeysWithValues: kinds.map { ($0, JSONValue.bool(false)) })),
            "clients": .array(clients), "groups": .array([]), "roles": .array(roles),
        ]).bytes
    }
}
