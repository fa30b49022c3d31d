package import ConfigurationFiles
import Cryptography
package import Gate
import LinuxIO

/// The bytes of `agent.toml` and `policy.toml`, read with their modes checked.
package struct RuleContent: Equatable {
    /// The loosest mode of a file that decides what is allowed.
    package static let mode: UInt32 = 0o640
    /// The loosest mode of their folder. A user who may write there could replace the files.
    static let folderMode: UInt32 = 0o755
    private static let limit = 1_048_576

    let folder: String
    private let agent: [UInt8]
    /// Nil if there is no such file.
    private let policyBytes: [UInt8]?

    /// Reads both files. Throws if a file cannot be read, or if `agent.toml` is missing. Throws if
    /// other users may change a file, by its mode or its folder's. With a mode looser than the
    /// default, the folder is not checked.
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

    /// Throws if users other than root and this one may change the folder's files. A missing
    /// folder passes.
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

    /// The control socket of a running agent, even if `agent.toml` is invalid by now.
    package static func controlPath(in folder: String) -> String {
        let bytes = try? read(agentPath(in: folder), 0o777)
        let text = String(decoding: (bytes ?? nil) ?? [], as: UTF8.self)
        return BoardSettings.runDir(in: text, environment: Environment.value(_:)) + "/agent.sock"
    }

    /// The policy file as text. Nil if there is none.
    var policyText: String? { policyBytes.map { String(decoding: $0, as: UTF8.self) } }

    func policy() throws(AgentFailure) -> Policy? {
        guard let policyBytes else { return nil }
        return try Self.parse(policyBytes, Self.policyPath(in: folder))
    }

    /// Reads the policy file; nil if there is none.
    package static func policy(
        in folder: String, strictestMode: UInt32 = mode
    ) throws(AgentFailure) -> Policy? {
        if strictestMode == mode { try checkFolder(folder) }
        let path = policyPath(in: folder)
        guard let bytes = try read(path, strictestMode) else { return nil }
        return try parse(bytes, path)
    }

    /// Parses a policy. Refuses an empty file, which a full disk or a power cut may leave: it
    /// would allow what the policy denied.
    static func parse(_ bytes: [UInt8], _ path: String) throws(AgentFailure) -> Policy {
        guard bytes.contains(where: { $0 > 0x20 }) else {
            throw AgentFailure(.badConfiguration, """
                \(path):1:1: the file is empty; remove it if you need no rules, or set \
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

    /// A digest over both files, to tell versions apart; nil if cryptography fails.
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
