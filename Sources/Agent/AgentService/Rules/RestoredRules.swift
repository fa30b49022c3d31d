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

    /// Reads what is kept. A user who may not enter the state folder finds nothing.
    package init(of settings: BoardSettings) throws(AgentFailure) {
        try self.init(
            BoardConfiguration(
                policy: try Self.read(Self.policyPath(in: settings.stateDir)),
                routes: try Self.read(Self.routesPath(in: settings.stateDir))),
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
            routes = try rules.routes.map { text throws(SettingsError) in
                try RouteFile.parse(text, file: path, under: settings.topicRoot)
            } ?? []
        } catch {
            throw AgentFailure(.badConfiguration, "\(error)")
        }
    }

    private static func read(_ path: String) throws(AgentFailure) -> String? {
        let bytes: [UInt8]
        do throws(FileFailure) {
            bytes = try PrivateFile.read(path, limit: BoardConfiguration.sizeLimit)
        } catch {
            switch error {
            case .missing, .notPermitted: return nil
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
            try PrivateFile.move(new, to: folder)
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
