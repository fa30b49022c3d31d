import AuthorityBroker
import AuthorityCore
import AuthorityHTTP
import AuthorityService
import AuthorityStore
import ConfigurationFiles
import Cryptography
import Doctor
import Foundation
import LinuxIO
import Logging
import MQTT
import Sessions
import Wire

/// The facts from which the authority's checks decide.
struct AuthorityFacts: Examined {
    enum Probe: Hashable, CaseIterable { case state, served, broker, reach, programs, disk, proof }

    /// A certificate of the authority, and its remaining time; nil if the file has none.
    struct Certificate: Equatable, Sendable {
        let file: String
        let timeLeft: Duration?
        /// Whether the authority made it.
        var isOwn = false
    }

    /// Why the authority's own CA cannot be used. `serve` does not start without it.
    var authorityFault: String?

    /// Why `authority.toml` cannot be used.
    var configFault: String?
    /// Whether there is an `authority.toml`.
    var hasConfig = true
    var isExternal = false
    var managesAccess = true
    /// The channels of `[alerts]`.
    var alertChannels: [AlertChannel] = []
    var modeFaults: [String] = []
    /// The store's content; nil if there is no store, or it cannot be opened.
    var store: StoreExamination?
    /// Why the store cannot be used.
    var storeFault: String?
    /// Facts about the database server; nil if the store is a file.
    var database: DatabaseFacts?
    /// Nil if it was not looked at.
    var keptData: KeptDataFacts?
    /// Why `authority.key` cannot be used.
    var keyFault: String?
    /// Whether a process serves from the state folder.
    var isServed = false
    /// The connection test of the authority's own HTTP.
    var page: Reach?
    /// The connection test of an external broker.
    var reach: Reach?
    var broker: BrokerTrial?
    /// The results of actions that the broker must refuse; nil if none was tried.
    var proof: RightsProof?
    /// The embedded broker's program and plugin, or the missing one.
    var program: Result<String, MissingProgram>?
    var certificates: [Certificate] = []
    /// Why the console's page cannot be shown; nil if it can.
    var consoleFault: String?
    var disk: DiskFacts?
    var clock = ClockWatch.Judgement.believed
    var versions = [
        ("postern-authority", ServiceSettings.version), ("OpenSSL", LinkedOpenSSL.version),
        ("libmosquitto", Library.version), ("kernel", KernelRelease.current),
    ]

    struct MissingProgram: Error, Equatable { let words: String }

    init() {}
}

extension AuthorityFacts {
    /// The free bytes wanted beside the store, for its log and a copy.
    private static let room: Int64 = 256 << 20

    /// Reads the files and runs `probes`. Changes nothing.
    init(_ folder: String, _ probes: Set<Probe>) async {
        hasConfig = PrivateFile.isThere("\(folder)/authority.toml")
        let written: AuthoritySettings
        let settings: ServiceSettings
        do {
            written = try Self.written(in: folder)
            settings = try ServiceSettings(written)
        } catch {
            configFault = "\(error)"
            return
        }
        // Run as the service's user, to see the files that the authority may read.
        do throws(SystemError) {
            try ProcessOwner.stepDown(toOwnerOf: settings.stateDirectory)
        } catch {
            modeFaults.append("\(error)")
        }
        let state = StateFolder(settings)
        // The doctor then sees what the service sees. If this fails, the file modes show why.
        try? state.enter()
        isExternal = if case .external = settings.broker { true } else { false }
        managesAccess = settings.managesBrokerAccess
        alertChannels = settings.alertsAreSentBy
        modeFaults += Self.modeFaults(folder, state, settings)
        consoleFault = Self.consoleFault(settings)
        certificates = Self.certificates(written)
        if written.tls != nil { authorityFault = Self.authorityFault(state) }
        if !probes.isDisjoint(with: [.state, .broker]) {
            if case .postgres(let place) = state.store {
                ask(place, state, settings.shared)
            } else {
                open(state)
            }
        }
        if probes.contains(.state) { await lookAtData(state, settings) }
        if probes.contains(.served) { knock(settings, state) }
        if probes.contains(.disk) {
            disk = DiskFacts(of: settings.stateDirectory, wanted: Self.room)
        }
        if probes.contains(.programs), !isExternal { program = await Self.program() }
        if probes.contains(.reach), case .external(let uri, _, _, let ca) = settings.broker {
            let ours = settings.brokerIdentity
            reach = Reach(to: uri, TLSOptions(
                caFile: ca, certificateFile: ours?.certificateFile, keyFile: ours?.keyFile))
        }
        // An embedded broker runs only while an authority serves. An external broker has its own
        // login.
        let keys = store?.keys ?? []
        guard probes.contains(.broker), reach?.broken == nil,
            isExternal || (isServed && !keys.isEmpty),
            let login = try? AuthorityServer.login(settings, state, keys)
        else { return }
        let isManaged = settings.access == .dynamicSecurity
        broker = await BrokerTrial(login, managesAccess: isManaged)
        guard probes.contains(.proof), broker?.loginFault == nil else { return }
        proof = await AuthorityRightsProbe(login: login, root: settings.root)
            .proof(managesAccess: isManaged)
    }

    /// Parses the file. Another check looks at its mode.
    private static func written(in folder: String) throws -> AuthoritySettings {
        let file = "\(folder)/authority.toml"
        var bytes: [UInt8] = []
        do throws(FileFailure) {
            bytes = try PrivateFile.read(file, limit: 1 << 20, strictestMode: 0o777)
        } catch {
            guard case .missing = error else { throw error }
        }
        return try AuthoritySettings.parse(
            String(decoding: bytes, as: UTF8.self), file: "authority.toml",
            environment: LinuxIO.Environment.value)
    }

    private static func modeFaults(
        _ folder: String, _ state: StateFolder, _ settings: ServiceSettings
    ) -> [String] {
        var faults = [FileModes.fault("\(folder)/authority.toml", 0o644)]
        faults += [state.database, state.data, state.masterKey].map { FileModes.fault($0, 0o600) }
        if case .postgres(let place) = settings.store, let file = place.passwordFile {
            faults.append(FileModes.fault(file, 0o600))
        }
        faults += CertificateFolder.Server.allCases.map {
            FileModes.fault(state.certificates.files(of: $0).keyFile, 0o600)
        }
        if case .external(_, _, let file?, _) = settings.broker {
            faults.append(FileModes.fault(file, 0o600))
        }
        let alerts = settings.alerts
        for case let file? in [
            alerts.webhook?.secretFile, alerts.ntfy?.tokenFile, alerts.mail?.passwordFile,
        ] {
            faults.append(FileModes.fault(file, 0o600))
        }
        for case let file? in settings.loginButtons.map(\.button.secretFile) {
            faults.append(FileModes.fault(file, 0o600))
        }
        faults.append(FileModes.fault(ofFolder: state.path))
        return faults.compactMap(\.self)
    }

    private mutating func open(_ state: StateFolder) {
        guard PrivateFile.isThere(state.database) else {
            storeFault = "\(StateFolderError.notInitialised(state.path))"
            return
        }
        let key = masterKey(of: state)
        do throws(AuthorityError) {
            let found = try StoreExamination(path: state.database, wrapping: key)
            versions.append(("SQLite", found.sqliteVersion))
            take(found, of: state)
        } catch {
            storeFault = error.words
        }
    }

    /// Nil if the key cannot be read; then `keyFault` says why.
    mutating func masterKey(of state: StateFolder) -> MasterKey? {
        do {
            return try MasterKey(at: state.masterKey)
        } catch {
            // Another check reports file modes.
            if modeFaults.isEmpty { keyFault = Exit.words(for: error) }
            return nil
        }
    }

    mutating func take(_ found: StoreExamination, of state: StateFolder) {
        store = found
        // `serve` fails with the same message.
        if found.isUnfounded, found.damage?.isEmpty != false {
            storeFault = "\(state.unfounded)"
        }
        keyFault = keyFault ?? found.keyFault
        guard let latest = found.latest else { return }
        var watch = ClockWatch(
            latest: latest, wall: systemClock(), monotonic: SystemClock.monotonic)
        clock = watch.look(wall: systemClock(), monotonic: SystemClock.monotonic)
    }

    /// Checks whether a process has locked the state folder, and whether HTTP answers.
    private mutating func knock(_ settings: ServiceSettings, _ state: StateFolder) {
        do throws(FileFailure) {
            guard PrivateFile.isThere(state.path + "/lock") else { return }
            _ = try FolderLock(state.path)
        } catch {
            if case .inUse = error { isServed = true }
        }
        guard isServed else { return }
        let any = ["0.0.0.0": "127.0.0.1", "::": "::1"]
        let host = any[settings.listen.host] ?? settings.listen.host
        page = Reach(host: host, port: settings.listen.port, isLoopback: true, tls: nil)
    }

    private static func consoleFault(_ settings: ServiceSettings) -> String? {
        do {
            var logger = Logger(label: "doctor") { _ in SwiftLogNoOpLogHandler() }
            logger.logLevel = .critical
            let files = try ConsoleFolder.files(settings.console, logger)
            return files.isEmpty ? "the console's files were not found" : nil
        } catch {
            return "\(error)"
        }
    }

    /// The certificates that `authority.toml` names, and those that the authority made.
    private static func certificates(_ written: AuthoritySettings) -> [Certificate] {
        var files = [written.http.identity, written.broker.identity]
            .compactMap { $0?.certificateFile }
        if written.tls != nil {
            let own = "\(written.stateDir)/tls"
            let names = (try? PrivateFolder.names(in: own)) ?? []
            files += names.filter { $0.hasSuffix(".pem") }.sorted().map { "\(own)/\($0)" }
        }
        return files.map { file in
            var input = try? InputFile(file)
            let bytes = (try? input?.read(first: 1 << 20)) ?? []
            return Certificate(
                file: file, timeLeft: Self.timeLeft(of: bytes),
                isOwn: file.hasPrefix("\(written.stateDir)/tls/"))
        }
    }

    /// The remaining time of a file's first certificate; nil if there is none.
    private static func timeLeft(of pem: [UInt8]) -> Duration? {
        let chain = try? Cryptography.Certificate.chain(pem: pem)
        return chain?.first.map { $0.notAfter - systemClock() }
    }

    /// Nil, too, if the master key is missing. Another check reports that.
    private static func authorityFault(_ state: StateFolder) -> String? {
        guard let master = try? MasterKey(at: state.masterKey) else { return nil }
        do throws(AuthorityError) {
            _ = try state.certificates.authority(wrapping: master)
            return nil
        } catch {
            return error.words
        }
    }

    private static func program() async -> Result<String, MissingProgram> {
        do {
            let folders = ["/usr/sbin", "/usr/local/sbin", "/usr/bin", "/usr/local/bin"]
            let path = try EmbeddedBroker.find("mosquitto", in: folders)
            let plugin = try EmbeddedBroker.findPlugin()
            let help = try? ChildProgram.output(
                of: "mosquitto", ["-h"], limit: 4096, patience: .seconds(3))
            let text = String(decoding: help ?? [], as: UTF8.self)
            let version = text.split(separator: "\n").first.map(String.init) ?? path
            return .success("\(version), \(plugin)")
        } catch {
            return .failure(MissingProgram(words: Exit.words(for: error)))
        }
    }
}
