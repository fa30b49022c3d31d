package import ConfigurationFiles
import Cryptography
package import Gate
import LinuxIO

/// What `agent.toml` and `policy.toml` hold, byte for byte, read with their modes checked.
package struct RuleContent: Equatable {
    /// The loosest mode of a file that decides rights.
    package static let mode: UInt32 = 0o640
    /// That of their folder: who may write there may put another file in their place.
    static let folderMode: UInt32 = 0o755
    private static let limit = 1_048_576

    let folder: String
    private let agent: [UInt8]
    /// Nil: there is no such file.
    private let policyBytes: [UInt8]?

    /// Throws for a file that may not be read, or that others may change by its mode or its
    /// folder's, and without `agent.toml`. A looser mode than the usual asks nothing of the
    /// folder.
    package init(
        folder: String, withoutPolicy: Bool = false, strictestMode: UInt32 = mode
    ) throws(AgentFailure) {
        if strictestMode == Self.mode { try Self.checkFolder(folder) }
        let path = Self.agentPath(in: folder)
        guard let agent = try Self.read(path, strictestMode) else {
            throw AgentFailure(.badConfiguration, "there is no \(path)")
        }
        self.folder = folder
        self.agent = agent
        policyBytes = withoutPolicy
            ? nil : try Self.read(Self.policyPath(in: folder), strictestMode)
    }

    package static func agentPath(in folder: String) -> String { "\(folder)/agent.toml" }
    package static func policyPath(in folder: String) -> String { "\(folder)/policy.toml" }

    /// Throws where others than root and this user may change what is in the folder. One that
    /// is not there holds nothing.
    package static func checkFolder(_ folder: String) throws(AgentFailure) {
        do throws(FileFailure) {
            try PrivateFolder.checkTarget(folder, mode: folderMode)
        } catch {
            if case .missing = error { return }
            throw AgentFailure(error)
        }
    }

    var hasPolicy: Bool { policyBytes != nil }

    package func settings() throws(AgentFailure) -> BoardSettings {
        do throws(SettingsError) {
            let path = Self.agentPath(in: folder)
            return try BoardSettings.parse(
                try SettingsError.text(of: agent, file: path), file: path,
                environment: Environment.value(_:))
        } catch {
            throw AgentFailure(.badConfiguration, "\(error)")
        }
    }

    /// Where an agent that runs is asked, also where `agent.toml` is faulty by now.
    package static func controlPath(in folder: String) -> String {
        let bytes = try? read(agentPath(in: folder), 0o777)
        let text = String(decoding: (bytes ?? nil) ?? [], as: UTF8.self)
        return BoardSettings.runDir(in: text, environment: Environment.value(_:)) + "/agent.sock"
    }

    func policy() throws(AgentFailure) -> Policy? {
        guard let policyBytes else { return nil }
        return try Self.parse(policyBytes, Self.policyPath(in: folder))
    }

    /// The policy file as it is now; nil where there is none.
    package static func policy(
        in folder: String, strictestMode: UInt32 = mode
    ) throws(AgentFailure) -> Policy? {
        if strictestMode == mode { try checkFolder(folder) }
        let path = policyPath(in: folder)
        guard let bytes = try read(path, strictestMode) else { return nil }
        return try parse(bytes, path)
    }

    /// A file of nothing is what a full disk or a power cut leaves of one: it would open what
    /// it closed.
    private static func parse(_ bytes: [UInt8], _ path: String) throws(AgentFailure) -> Policy {
        guard bytes.contains(where: { $0 > 0x20 }) else {
            throw AgentFailure(.badConfiguration, """
                \(path):1:1: the file is empty; remove it if no rules are meant, or say \
                default = "allow"
                """)
        }
        do throws(SettingsError) {
            return try PolicyFile.parse(try SettingsError.text(of: bytes, file: path), file: path)
        } catch {
            throw AgentFailure(.badConfiguration, "\(error)")
        }
    }

    private static func read(
        _ path: String, _ mode: UInt32
    ) throws(AgentFailure) -> [UInt8]? {
        do throws(FileFailure) {
            return try PrivateFile.read(path, limit: limit, strictestMode: mode)
        } catch {
            if case .missing = error { return nil }
            throw AgentFailure(error)
        }
    }

    /// Tells one content of both files from another; nil without cryptography.
    package var digest: String? {
        let bytes = agent + [0, hasPolicy ? 1 : 0] + (policyBytes ?? [])
        let digits = Array("0123456789abcdef".utf8)
        return (try? SHA256.digest(bytes)).map { digest in
            String(decoding: digest.prefix(8).flatMap {
                [digits[Int($0 >> 4)], digits[Int($0 & 15)]]
            }, as: UTF8.self)
        }
    }
}
