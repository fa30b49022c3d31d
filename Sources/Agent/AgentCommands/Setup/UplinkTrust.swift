import AgentService
import Doctor
import LinuxIO
import MQTT
import Wire

/// The certificates that vouch for the upstream broker, and whether it answered.
struct UplinkTrust {
    enum Authority: Equatable {
        case system
        /// The path of a PEM file that the person named.
        case file(String)
        /// The CA certificate that the broker sent, PEM. It has the given fingerprint and vouches
        /// for that broker.
        case fetched(String)
        /// Plain text: no certificate.
        case nobody
    }

    let authority: Authority
    /// Why the broker could not be reached or trusted; nil if it answered.
    let fault: String?

    var isWorking: Bool { fault == nil }
    /// Whether the broker has shown no certificate yet: it may need a CA that nobody has named.
    var isUntried: Bool { !isWorking && authority == .system }

    var words: String {
        switch authority {
        case .system: "the system's certificates verify it"
        case .file(let path): "\(path) verifies it"
        case .fetched: "the CA with that fingerprint verifies it"
        case .nobody: "not encrypted"
        }
    }

    /// The CA file that `agent.toml` names; nil for none.
    func caFile(in folder: String) -> String? {
        switch authority {
        case .system, .nobody: nil
        case .file(let path): path
        case .fetched: Self.path(in: folder)
        }
    }

    static func path(in folder: String) -> String { "\(folder)/uplink-ca.pem" }

    /// Connects once, without a login: a broker that refuses has still sent its certificate. A
    /// broker that is away is no error, because a board may be set up before its network.
    static func settle(
        _ uplink: BrokerURI, caFile: String?, fingerprint: String?, _ questions: SetupQuestions,
        folder: String, replaces: Bool
    ) throws(AgentFailure) -> UplinkTrust {
        guard uplink.scheme == .mqtts else {
            return UplinkTrust(authority: .nobody, fault: fault(uplink, caFile: nil)?.words)
        }
        if let caFile {
            guard caFile.hasPrefix("/") else {
                throw AgentFailure(.usage, "--ca-file must be an absolute path")
            }
            let found = fault(uplink, caFile: caFile)
            if let found, found.isOfTrust {
                throw AgentFailure(.failed, "\(caFile) does not verify the broker: \(found.words)")
            }
            return UplinkTrust(authority: .file(caFile), fault: found?.words)
        }
        if let fingerprint { return try fetch(uplink, fingerprint, folder, replaces) }
        let found = fault(uplink, caFile: nil)
        if let found, found.isOfTrust {
            guard let typed = try questions.fingerprint(of: uplink, because: found.words) else {
                throw AgentFailure(
                    .failed, "no known CA verifies \(uplink) (\(found.words)): use "
                        + "--ca-fingerprint, from `postern-authority tls show`, or --ca-file")
            }
            return try fetch(uplink, typed, folder, replaces)
        }
        return UplinkTrust(authority: .system, fault: found?.words)
    }

    /// Fetches the CA certificate, and checks that it vouches for the broker that sent it: an
    /// attacker may send another broker's CA beside their own certificate. An older kept file is
    /// unchanged until all checks pass.
    private static func fetch(
        _ uplink: BrokerURI, _ text: String, _ folder: String, _ replaces: Bool
    ) throws(AgentFailure) -> UplinkTrust {
        guard let fingerprint = CertificateFingerprint(text) else {
            throw AgentFailure(
                .usage, "not a SHA-256 fingerprint, as from `postern-authority tls show`")
        }
        let file = path(in: folder)
        guard replaces || !PrivateFile.isThere(file) else {
            throw AgentFailure(
                .usage, "\(file) exists and was not changed: use --ca-file \(file), or "
                    + "--replace")
        }
        let pem: String
        do throws(MQTTError) {
            pem = try CertificateFetch.authority(
                of: uplink, fingerprint: fingerprint, timeout: .seconds(10))
        } catch {
            throw AgentFailure(
                .failed, "\(uplink): \(error); compare the fingerprint with that of "
                    + "`postern-authority tls show` on the authority's machine")
        }
        let found = try fault(uplink, ca: pem, in: folder)
        if let found, found.isOfTrust {
            throw AgentFailure(
                .failed, "the CA does not verify this broker: do not trust it (\(found.words))")
        }
        return UplinkTrust(authority: .fetched(pem), fault: found?.words)
    }

    /// TLS reads a CA from a file, so this writes one for this check only.
    private static func fault(
        _ uplink: BrokerURI, ca pem: String, in folder: String
    ) throws(AgentFailure) -> (words: String, isOfTrust: Bool)? {
        let trial = path(in: folder) + ".trial"
        do throws(FileFailure) {
            try PrivateFolder.prepare(folder, mode: 0o755)
            try PrivateFile.write(trial, Array(pem.utf8))
            let found = fault(uplink, caFile: trial)
            try PrivateFile.remove(trial)
            return found
        } catch {
            throw AgentFailure(error)
        }
    }

    private static func fault(
        _ uplink: BrokerURI, caFile: String?
    ) -> (words: String, isOfTrust: Bool)? {
        let options = ConnectOptions(
            uri: uplink, clientID: "postern-setup-\(ProcessIdentity.processID)", keepAlive: 0,
            tls: TLSOptions(caFile: caFile))
        do throws(MQTTError) {
            let answer = try BrokerLoginTest.attempt(
                options, until: SystemClock.monotonic + .seconds(5))
            guard case .unreachable(let text) = answer else { return nil }
            return (text, false)
        } catch {
            return switch error {
            // The broker has proved its identity and wants a login, which pairing brings.
            case .brokerLogin: nil
            case .tls: ("\(error)", true)
            default: ("\(error)", false)
            }
        }
    }
}
