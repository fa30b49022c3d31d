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
        /// Whether the state folder had another claim, which no agent had taken.
        let isReplacement: Bool
        /// Whether other users could read the file where it was.
        let wasOpen: Bool
        /// Why the file could not be erased where it was.
        var fault: FileFailure?
        /// Why the file at an earlier place was not handed over.
        var passedOver: AgentFailure?
    }

    /// Nil if there is no file. Throws the first fault if no file could be handed over.
    func perform() throws(AgentFailure) -> Done? {
        var fault: AgentFailure?
        for source in ClaimFile.places(configDir: folder, stateDir: nil) where source.isThere {
            do throws(AgentFailure) {
                guard var done = try handOver(source) else { continue }
                done.passedOver = fault
                return done
            } catch {
                fault = fault ?? error
            }
        }
        if let fault { throw fault }
        return nil
    }

    private func handOver(_ source: ClaimFile) throws(AgentFailure) -> Done? {
        guard let claim = try source.read() else {
            try? source.erase()
            return nil
        }
        let wasOpen = source.isOpenToOthers
        let isConfigured = try configure(claim)
        let state = try RuleContent(folder: folder, withoutPolicy: true).settings().stateDir
        let place = ClaimFile.inState(state)
        let old = place.isThere ? try? place.read() : nil
        try move(claim, to: place, in: state)
        var done = Done(
            claim: claim, source: source, isConfigured: isConfigured, place: place,
            isReplacement: old.map { $0.id != claim.id } ?? false, wasOpen: wasOpen)
        do throws(FileFailure) {
            try source.erase()
        } catch {
            done.fault = error
        }
        return done
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
                try configureFromFirst(of: places)
            }
        } catch {
            guard !isConfigured else { return }
            throw error
        }
    }

    private func configureFromFirst(of places: [ClaimFile]) throws(AgentFailure) {
        var fault: AgentFailure?
        for source in places where source.isThere {
            do throws(AgentFailure) {
                guard let claim = try source.read() else { continue }
                _ = try configure(claim)
                return
            } catch {
                fault = fault ?? error
            }
        }
        if let fault { throw fault }
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

    /// Writes `agent.toml`, or adds to it the section `[uplink]` and the name, each if it is
    /// missing. Returns whether it wrote.
    func configure(_ claim: PreparedClaimFile) throws(AgentFailure) -> Bool {
        let path = RuleContent.agentPath(in: folder)
        let trust = UplinkTrust(
            authority: claim.ca.map { .fetched($0.pem) } ?? .system, fault: nil)
        let file = SetupFile(
            name: claim.name, uplink: claim.broker, insecure: false, claimBase: nil,
            caFile: trust.caFile(in: folder), bus: nil, backsUpConfiguration: false,
            folder: folder, author: "join")
        guard let text = try text(for: file, at: path) else { return false }
        if let old = oldText(at: path), Self.isComplete(old, path) {
            try file.write(text, to: path, trust: UplinkTrust(authority: .system, fault: nil))
            return true
        }
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
        guard let old = String(validating: bytes, as: UTF8.self) else { return nil }
        // A file that has a name does not take a second one.
        if Self.isComplete(old, path) {
            let named = "\(file.nameLine)\n\(old)"
            return Self.isComplete(named, path) ? named : nil
        }
        let extended = old + file.uplinkSection + "\n"
        return ["\(file.nameLine)\n\(extended)", extended].first { Self.isComplete($0, path) }
    }

    private func oldText(at path: String) -> String? {
        let bytes = try? PrivateFile.read(path, limit: 1 << 20, strictestMode: RuleContent.mode)
        return bytes.flatMap { String(validating: $0, as: UTF8.self) }
    }

    private static func isComplete(_ text: String, _ path: String) -> Bool {
        let settings = try? BoardSettings.parse(
            text, file: path, environment: Environment.value(_:))
        return settings != nil
    }
}
