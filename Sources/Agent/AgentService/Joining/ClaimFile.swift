import Cryptography
package import LinuxIO
import Sessions
package import Wire

/// The file of a prepared claim, at one of the places where it is looked for.
package struct ClaimFile: Equatable {
    /// On a Raspberry Pi's boot partition, which a person can write when they flash the card.
    private static let bootPath = "/boot/firmware/postern-claim"
    /// What `PrivateFile.erase` writes over a file.
    private static let blank = UInt8(ascii: "-")

    package let path: String
    /// Whether the agent itself may erase the file, which is in its own folder.
    let isAgents: Bool
    /// The loosest mode. The boot partition has no modes, so there any will do.
    private let strictestMode: UInt32

    private init(path: String, isAgents: Bool, strictestMode: UInt32) {
        self.path = path
        self.isAgents = isAgents
        self.strictestMode = strictestMode
    }

    /// The places, in the order in which the agent looks. `postern-agent join` moves a file from
    /// the first two, which only root may change, to the state folder.
    package static func places(configDir: String, stateDir: String?) -> [ClaimFile] {
        [
            ClaimFile(path: "\(configDir)/claim", isAgents: false, strictestMode: 0o755),
            ClaimFile(path: bootPath, isAgents: false, strictestMode: 0o777),
        ] + (stateDir.map { [inState($0)] } ?? [])
    }

    package static func inState(_ folder: String) -> ClaimFile {
        ClaimFile(path: "\(folder)/claim", isAgents: true, strictestMode: 0o600)
    }

    /// Whether other users may read the file, where files have modes.
    package var isOpenToOthers: Bool {
        guard strictestMode != 0o777 else { return false }
        do throws(FileFailure) {
            try PrivateFile.check(path, strictestMode: 0o700)
            return false
        } catch {
            return true
        }
    }

    package var isThere: Bool { PrivateFile.isThere(path) }

    /// Reads and checks the file. Nil for the rest of a file that was being erased when the power
    /// failed. The error says what is wrong, and repeats no value of the file.
    package func read() throws(AgentFailure) -> PreparedClaimFile? {
        let bytes: [UInt8]
        do throws(FileFailure) {
            bytes = try PrivateFile.read(
                path, limit: PreparedClaimFile.limit, strictestMode: strictestMode)
        } catch {
            throw AgentFailure(error)
        }
        if bytes.first == Self.blank || bytes.last == Self.blank { return nil }
        let claim: PreparedClaimFile
        do throws(WireError) {
            claim = try PreparedClaimFile(parsing: bytes)
        } catch {
            throw fault("is no prepared claim: " + error.refusal.text)
        }
        do throws(CryptographyError) {
            _ = try X25519PublicKey(rawRepresentation: claim.sealKey)
        } catch {
            throw fault("is no prepared claim: its sealKey is not a valid key")
        }
        if let ca = claim.ca { try check(ca) }
        return claim
    }

    /// The fingerprint is that of the only certificate. No other one may come with it.
    private func check(
        _ ca: PreparedClaimFile.CertificateAuthority
    ) throws(AgentFailure) {
        guard let chain = try? Certificate.chain(pem: Array(ca.pem.utf8)) else {
            throw fault("is damaged: its ca is no certificate in PEM")
        }
        guard chain.count == 1 else {
            throw fault("is no prepared claim: its ca is more than one certificate")
        }
        guard chain.first?.sha256 == ca.fingerprint.bytes else {
            throw fault("is damaged or was changed: its ca does not have its caFingerprint")
        }
    }

    private func fault(_ sentence: String) -> AgentFailure {
        AgentFailure(.badConfiguration, "\(path) \(sentence)")
    }

    /// Overwrites the file and removes it, durably.
    package func erase() throws(FileFailure) {
        try PrivateFile.erase(path, strictestMode: strictestMode)
        try PrivateFile.remove(path)
    }
}
