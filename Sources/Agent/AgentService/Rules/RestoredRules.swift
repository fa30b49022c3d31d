package import ConfigurationFiles
package import Gate
import LinuxIO
import Wire

/// The rules of the board that this one replaced, as the authority gave them. They are kept in the
/// state folder. A file of the configuration folder wins over them.
package struct RestoredRules: Equatable {
    package static let none = RestoredRules()

    /// Nil if there is none.
    package let policyText: String?
    package let policy: Policy?
    package let routes: [Route]
    private let routesText: String?

    package static func folder(in stateDir: String) -> String { "\(stateDir)/restored" }
    package static func policyPath(in stateDir: String) -> String {
        "\(folder(in: stateDir))/policy.toml"
    }
    package static func routesPath(in stateDir: String) -> String {
        "\(folder(in: stateDir))/routes.toml"
    }

    private init() { (policyText, policy, routes, routesText) = (nil, nil, [], nil) }

    /// Reads what is kept and is wanted, because the configuration folder has none of it.
    ///
    /// `mustRead`: a file that this user may not read is a fault. Otherwise it counts as missing.
    package init(
        of settings: BoardSettings, policy: Bool, routes: Bool, mustRead: Bool = false
    ) throws(AgentFailure) {
        let paths = (Self.policyPath(in: settings.stateDir), Self.routesPath(in: settings.stateDir))
        try self.init(
            BoardConfiguration(
                policy: policy ? try Self.read(paths.0, mustRead) : nil,
                routes: routes ? try Self.read(paths.1, mustRead) : nil),
            for: settings)
    }

    /// Parses both texts as files are parsed. Throws for any fault in either.
    init(_ rules: BoardConfiguration, for settings: BoardSettings) throws(AgentFailure) {
        (policyText, routesText) = (rules.policy, rules.routes)
        policy = try rules.policy.map { text throws(AgentFailure) in
            try RuleContent.parse(Array(text.utf8), Self.policyPath(in: settings.stateDir))
        }
        let path = Self.routesPath(in: settings.stateDir)
        do throws(SettingsError) {
            var read = try rules.routes.map { text throws(SettingsError) in
                try RouteFile.parse(text, file: path, under: settings.topicRoot)
            } ?? []
            for index in read.indices { read[index].isRestored = true }
            routes = read
        } catch {
            throw AgentFailure(.badConfiguration, "\(error)")
        }
    }

    var isEmpty: Bool { policy == nil && routes.isEmpty }

    private static func read(
        _ path: String, _ mustRead: Bool
    ) throws(AgentFailure) -> String? {
        let bytes: [UInt8]
        do throws(FileFailure) {
            bytes = try PrivateFile.read(path, limit: BoardConfiguration.sizeLimit)
        } catch {
            switch error {
            case .missing: return nil
            case .notPermitted where !mustRead: return nil
            default: throw AgentFailure(error)
            }
        }
        do throws(SettingsError) {
            return try SettingsError.text(of: bytes, file: path)
        } catch {
            throw AgentFailure(.badConfiguration, "\(error)")
        }
    }

    /// Keeps both files, durably. After a power cut both are there or none is.
    func write(to stateDir: String) throws(AgentFailure) {
        let folder = Self.folder(in: stateDir)
        let new = "\(folder).new"
        do throws(FileFailure) {
            try PrivateFolder.prepare(new)
            for (name, text) in [("policy.toml", policyText), ("routes.toml", routesText)] {
                if let text {
                    try PrivateFile.write("\(new)/\(name)", Array(text.utf8))
                } else {
                    try PrivateFile.remove("\(new)/\(name)")
                }
            }
            if PrivateFile.isThere(folder) {
                // A rename replaces an empty folder only.
                for name in try PrivateFolder.names(in: folder) {
                    try PrivateFile.unlink("\(folder)/\(name)")
                }
            }
            try PrivateFile.move(new, to: folder)
        } catch {
            throw AgentFailure(error)
        }
    }

    /// Removes what the configuration folder has itself now. Otherwise it would come back in force
    /// if that file were lost.
    static func remove(policy: Bool, routes: Bool, in stateDir: String) throws(AgentFailure) {
        let paths = [
            policy ? policyPath(in: stateDir) : nil, routes ? routesPath(in: stateDir) : nil,
        ]
        do throws(FileFailure) {
            for case let path? in paths where PrivateFile.isThere(path) {
                try PrivateFile.remove(path)
            }
        } catch {
            throw AgentFailure(error)
        }
    }

    /// The files in force, for people. Nil if none is.
    package static func words(
        policy: Bool, routes: Bool, in stateDir: String
    ) -> String? {
        let paths = [
            policy ? policyPath(in: stateDir) : nil, routes ? routesPath(in: stateDir) : nil,
        ].compactMap(\.self)
        guard !paths.isEmpty else { return nil }
        return "restored from the replaced board: " + paths.joined(separator: ", ")
    }
}
