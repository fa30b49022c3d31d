import AuthorityHTTP
import ConfigurationFiles
import LinuxIO
import Sessions

extension ServiceSettings {
    private static let shortestMasterKey = 16

    /// The configuration of Parse's API. Each key is the first line of its file, which only this
    /// user may be able to read. A master key has 16 bytes or more, and differs from the REST key
    /// that every client has.
    func parseRules() throws -> ParseRules {
        var rules = ParseRules()
        rules.mount = parse.mount
        rules.sessionPermissions = sessionPermissions
        rules.origins = Set(parse.origins)
        rules.restAPIKey = try parse.restAPIKey.map { SecretBytes(Array($0.utf8)) }
            ?? parse.restAPIKeyFile.map { try Self.key(in: $0, "rest_api_key_file", shortest: 1) }
        rules.masterKey = try parse.masterKeyFile.map {
            try Self.key(in: $0, "master_key_file", shortest: Self.shortestMasterKey)
        }
        if let master = rules.masterKey, rules.restAPIKey?.matches(master) == true {
            throw SettingsError(
                file: "authority.toml",
                message: "http.rest_api_key: it is the master key, and each client would get "
                    + "it; give clients another key, or none")
        }
        rules.takesMasterKeyFromAnywhere = parse.masterKeyFrom == .anywhere
        return rules
    }

    private static func key(
        in file: String, _ name: String, shortest: Int
    ) throws -> SecretBytes {
        let line = AuthorityServer.firstLine(try PrivateFile.read(file, limit: 4096))
        guard line.count >= shortest else {
            throw SettingsError(
                file: "authority.toml",
                message: "http.\(name): its first line must have \(shortest) characters or more")
        }
        return SecretBytes(line)
    }
}
