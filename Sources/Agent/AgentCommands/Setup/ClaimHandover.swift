import AgentService
import ConfigurationFiles
import LinuxIO
import Wire

/// Prepares an agent for a prepared claim's file: writes what `agent.toml` lacks, and as root moves
/// the file to the state folder, where the agent may erase it.
struct ClaimHandover {
    /// The folder of `agent.toml`.
    let folder: String

    struct Done {
        let claim: PreparedClaimFile
        let source: ClaimFile
        /// Whether `agent.toml` was written.
        let isConfigured: Bool
        /// The place of the file from now on.
        let place: ClaimFile
        /// Why the file could not be erased where it was.
        var fault: FileFailure?
    }

    /// Nil if there is no file.
    func perform() throws(AgentFailure) -> Done? {
        for source in ClaimFile.places(configDir: folder, stateDir: nil) where source.isThere {
            guard let claim = try source.read() else {
                try? source.erase()
                continue
            }
            let isConfigured = try configure(claim)
            let state = try RuleContent(folder: folder, withoutPolicy: true).settings().stateDir
            let place = ClaimFile.inState(state)
            try move(claim, to: place, in: state)
            var done = Done(
                claim: claim, source: source, isConfigured: isConfigured, place: place)
            do throws(FileFailure) {
                try source.erase()
            } catch {
                done.fault = error
            }
            return done
        }
        return nil
    }

    /// The same at the start of `run`. An agent that is not root takes the file where it is. A
    /// file that cannot be used stops only a board whose `agent.toml` is not complete without it.
    func performAtStart() throws(AgentFailure) {
        let places = ClaimFile.places(configDir: folder, stateDir: nil)
        guard places.contains(where: \.isThere) else { return }
        do throws(AgentFailure) {
            if ProcessIdentity.effectiveUser == 0 {
                if let fault = try perform()?.fault { throw AgentFailure(fault) }
            } else {
                for source in places where source.isThere {
                    guard let claim = try source.read() else { continue }
                    _ = try configure(claim)
                    return
                }
            }
        } catch {
            guard !isConfigured else { return }
            throw error
        }
    }

    /// Whether `agent.toml` can be used without a prepared claim.
    private var isConfigured: Bool {
        (try? RuleContent(folder: folder, withoutPolicy: true).settings()) != nil
    }

    /// The state folder's owner gets the file. A new folder is for systemd to give away.
    private func move(
        _ claim: PreparedClaimFile, to place: ClaimFile, in state: String
    ) throws(AgentFailure) {
        do throws(FileFailure) {
            let owner = ProcessOwner.owner(of: state)
            if owner == nil { try PrivateFolder.prepare(state) }
            let isRoot = ProcessIdentity.effectiveUser == 0
            try PrivateFile.write(
                place.path, claim.reveal(), group: isRoot ? owner?.group : nil,
                user: isRoot ? owner?.user : nil)
        } catch {
            throw AgentFailure(error)
        }
    }

    /// Writes `agent.toml`, or adds to it the section `[uplink]` and the name. Leaves a file that
    /// has this section as it is. Returns whether it wrote.
    func configure(_ claim: PreparedClaimFile) throws(AgentFailure) -> Bool {
        let path = RuleContent.agentPath(in: folder)
        let trust = UplinkTrust(
            authority: claim.ca.map { .fetched($0.pem) } ?? .system, fault: nil)
        let file = SetupFile(
            name: claim.name, uplink: claim.broker, insecure: false, claimBase: nil,
            caFile: trust.caFile(in: folder), bus: nil, backsUpConfiguration: false,
            folder: folder)
        guard let text = try text(for: file, at: path) else { return false }
        guard claim.broker.scheme == .mqtts || claim.broker.isLoopback else {
            throw AgentFailure(.badConfiguration, """
                the prepared claim names \(claim.broker), which is not encrypted: to allow that, \
                write [uplink] with this uri and insecure = true into \(path) yourself
                """)
        }
        guard folder.hasPrefix("/") else {
            throw AgentFailure(
                .usage, "--config-dir must be an absolute path: agent.toml names files in it")
        }
        try file.check(at: path)
        try file.write(text, to: path, trust: trust)
        return true
    }

    /// The content to write. Nil if the present file is complete, or has a fault of its own that
    /// the agent reports.
    private func text(for file: SetupFile, at path: String) throws(AgentFailure) -> String? {
        let bytes: [UInt8]
        do throws(FileFailure) {
            bytes = try PrivateFile.read(
                path, limit: 1 << 20, strictestMode: RuleContent.mode)
        } catch {
            if case .missing = error { return file.text }
            throw AgentFailure(error)
        }
        guard let old = String(validating: bytes, as: UTF8.self), !Self.isComplete(old, path)
        else { return nil }
        let extended = old + file.uplinkSection + "\n"
        // A file that has a name does not take a second one.
        return ["\(file.nameLine)\n\(extended)", extended].first { Self.isComplete($0, path) }
    }

    private static func isComplete(_ text: String, _ path: String) -> Bool {
        let settings = try? BoardSettings.parse(
            text, file: path, environment: Environment.value(_:))
        return settings != nil
    }
}
