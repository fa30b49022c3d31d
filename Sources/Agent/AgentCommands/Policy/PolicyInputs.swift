import AgentCore
import AgentService
import ConfigurationFiles
import Gate
import LinuxIO
import Sessions
import Wire

/// The rules by which a command decides, read from the places that its options name.
struct PolicyInputs {
    /// Whether to use the scope of the board's session if no file gives one.
    enum SessionScope {
        case no
        /// Uses it if the session can be asked; if not, the command goes on and says so.
        case ifKnown
        case yes
    }

    /// The policy file's path, as it is shown to people.
    private(set) var file: String
    /// The file of the routes, for people.
    private(set) var routesFile: String
    /// Where restored rules in force are. Nil if none are in force.
    private(set) var restoredWords: String?
    /// Nil if there is no such file: only the built-in rules apply.
    private(set) var policy: Policy?
    private(set) var appLines: [AppName: Int]
    private(set) var routes = RouteTable()
    private(set) var scope: Scope?
    private var isScopeJudged = false
    /// The source of the scope, or why there is none.
    private(set) var scopeSource = "not asked for"

    /// Whether the board was asked and has no session.
    private(set) var lacksSession = false

    /// The largest input file, in bytes. No real file of rules, scopes or cases is near this size.
    private static let limit = 1_048_576

    init(
        _ place: BoardPlace, _ source: PolicySource, session: SessionScope
    ) throws(AgentFailure) {
        file = source.policy ?? "\(place.configDir)/policy.toml"
        let text = if let draft = source.policy {
            try Self.text(draft)
        } else {
            try Self.inForce(file, place)
        }
        routesFile = "\(place.configDir)/agent.toml"
        (policy, appLines) = try Self.located(text, file)
        let settings = try Self.settings(routesFile)
        routes = RouteTable(settings?.routes ?? [])
        if let path = source.scope {
            scope = try Self.scope(in: path)
            isScopeJudged = true
            scopeSource = path
        }
        if let settings { try takeRestored(settings, isDraft: source.policy != nil) }
        if source.scope == nil, session != .no {
            try askSession(place, settings != nil, mustKnow: session == .yes)
        }
    }

    var gate: Gate { Gate(policy: policy, scope: scope) }
    var trial: PolicyTrial {
        PolicyTrial(gate: gate, routes: routes, isScopeJudged: isScopeJudged)
    }

    /// The scope that applies to routes: a session without a scope grants no topic. Nil if the
    /// scope is not known.
    var scopeOfRoutes: Scope? {
        scope ?? (isScopeJudged ? Scope(allowsByDefault: true, rules: [], topics: []) : nil)
    }

    /// Reads the policy in force; nil if the folder has none. A missing folder is an error.
    private static func inForce(
        _ file: String, _ place: BoardPlace
    ) throws(AgentFailure) -> String? {
        guard PrivateFile.isThere(place.configDir) else {
            throw AgentFailure(
                .badConfiguration,
                "\(place.configDir): there is no such folder; name another with --config-dir, or"
                    + " a policy file with --policy")
        }
        try RuleContent.checkFolder(place.configDir)
        return try guarded(file)
    }

    private static func located(
        _ text: String?, _ file: String
    ) throws(AgentFailure) -> (Policy?, [AppName: Int]) {
        guard let text else { return (nil, [:]) }
        do throws(SettingsError) {
            let located = try PolicyFile.located(text, file: file)
            return (located.policy, located.appLines)
        } catch {
            throw AgentFailure(.badConfiguration, "\(error)")
        }
    }

    /// Reads `agent.toml`. Nil if there is no such file.
    private static func settings(_ path: String) throws(AgentFailure) -> BoardSettings? {
        guard let text = try guarded(path) else { return nil }
        do throws(SettingsError) {
            return try BoardSettings.parse(
                text, file: path, environment: Environment.value(_:))
        } catch {
            throw AgentFailure(.badConfiguration, "\(error)")
        }
    }

    /// Takes the rules of the replaced board where the files have none. They belong to the agent's
    /// user, so root reads them as that user.
    private mutating func takeRestored(
        _ settings: BoardSettings, isDraft: Bool
    ) throws(AgentFailure) {
        let folder = settings.stateDir
        guard PrivateFile.isThere(RestoredRules.folder(in: folder)) else { return }
        do throws(SystemError) {
            try ProcessOwner.stepDown(toOwnerOf: folder)
        } catch {
            throw AgentFailure(.failed, "\(error)")
        }
        let restored = try RestoredRules(
            of: settings, policy: policy == nil && !isDraft, routes: settings.routes.isEmpty)
        let takesRoutes = settings.routes.isEmpty && !restored.routes.isEmpty
        if takesRoutes {
            routes = RouteTable(restored.routes)
            routesFile = RestoredRules.routesPath(in: folder)
        }
        let takesPolicy = policy == nil && !isDraft && restored.policyText != nil
        if takesPolicy {
            file = RestoredRules.policyPath(in: folder)
            (policy, appLines) = try Self.located(restored.policyText, file)
        }
        restoredWords = RestoredRules.words(policy: takesPolicy, routes: takesRoutes, in: folder)
    }

    /// Reads a file that decides what this board allows, so its mode is checked. Nil if it is
    /// missing.
    private static func guarded(_ path: String) throws(AgentFailure) -> String? {
        let bytes: [UInt8]
        do throws(FileFailure) {
            bytes = try PrivateFile.read(path, limit: limit, strictestMode: 0o640)
        } catch {
            if case .missing = error { return nil }
            throw AgentFailure(error)
        }
        return try text(of: bytes, path)
    }

    private static func text(
        of bytes: [UInt8], _ path: String
    ) throws(AgentFailure) -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw AgentFailure(.badConfiguration, "\(path) is not UTF-8")
        }
        return text
    }

    /// Reads a file that decides nothing on this board: a draft, a list of cases. Its mode is not
    /// checked.
    static func text(_ path: String) throws(AgentFailure) -> String {
        let bytes: [UInt8]
        do throws(FileFailure) {
            var file = try InputFile(path)
            bytes = try file.read(first: limit + 1)
        } catch {
            throw AgentFailure(input: error)
        }
        guard bytes.count <= limit else {
            throw AgentFailure(.badConfiguration, "\(path): larger than \(limit) bytes")
        }
        return try text(of: bytes, path)
    }

    /// Reads a payload, at most one byte more than the largest allowed one. The extra byte makes
    /// it too large.
    static func payload(_ path: String) throws(AgentFailure) -> [UInt8] {
        do throws(FileFailure) {
            var file = try InputFile(path)
            return try file.read(first: Gate.payloadLimit + 1)
        } catch {
            throw AgentFailure(input: error)
        }
    }

    private static func scope(in path: String) throws(AgentFailure) -> Scope {
        let document = try document(text(path), path)
        guard let scope = try? Scope(document) else {
            throw AgentFailure(.badConfiguration, "\(path): not a scope")
        }
        return scope
    }

    private static func document(
        _ text: String, _ path: String
    ) throws(AgentFailure) -> ScopeDocument {
        do throws(ScopeFault) {
            return try ScopeDocument(written: Array(text.utf8))
        } catch {
            throw AgentFailure(.badConfiguration, "\(path): \(error)")
        }
    }

    private mutating func askSession(
        _ place: BoardPlace, _ hasSettings: Bool, mustKnow: Bool
    ) throws(AgentFailure) {
        guard hasSettings else {
            scopeSource = "there is no \(place.configDir)/agent.toml, so no agent was asked"
            if mustKnow { throw AgentFailure(.badConfiguration, scopeSource) }
            return
        }
        do throws(AgentFailure) {
            let (_, answer) = try BoardFiles(folder: place.configDir).ask(.session)
            // The policy file in force was removed without confirmation, so every write is
            // refused.
            if policy == nil, answer.members["policyLost"] == .bool(true) { policy = .refusesAll }
            guard let json = answer.members["scope"], json != .null else {
                scopeSource = "the session has none"
                if answer.members["state"] != .string("available") {
                    scopeSource = "no session is available"
                    lacksSession = true
                } else {
                    isScopeJudged = true
                }
                return
            }
            guard let read = try? Scope(ScopeDocument(unchecked: json)) else {
                throw AgentFailure(.failed, "the session's scope cannot be read")
            }
            scope = read
            isScopeJudged = true
            scopeSource = "the session's"
        } catch {
            guard !mustKnow else { throw error }
            scopeSource = "not known: \(error.sentence)"
        }
    }
}

extension AgentFailure {
    /// A missing input file is wrong usage, so that the caller names another.
    init(input failure: FileFailure) {
        switch failure {
        case .missing, .wrongKind: self.init(.usage, "\(failure)")
        default: self.init(failure)
        }
    }
}
