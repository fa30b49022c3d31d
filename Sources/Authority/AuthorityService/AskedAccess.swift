import AuthorityBroker
import AuthorityCore
import AuthorityHTTP
import ConfigurationFiles
import LinuxIO
import Logging
import Sessions
import Wire

// Access for brokers that ask over HTTP which clients they may let in.
extension AuthorityServer {
    static func access(
        _ settings: ServiceSettings, _ login: BrokerLink.BrokerLogins, _ logger: Logger
    ) -> BrokerWorker.Access {
        switch settings.access {
        case .dynamicSecurity: .commanded
        case .http: .asked(ClientTakeover(login: login, logger: logger))
        case .none: .none
        }
    }

    private static let shortestSecret = 16

    /// Makes the part that answers such a broker. The broker also asks about the authority's own
    /// two clients.
    static func makeAskingBroker(
        _ settings: ServiceSettings, _ login: BrokerLink.BrokerLogins, _ keys: AuthorityKeys,
        _ authority: Authority
    ) throws -> AskingBroker? {
        guard settings.access == .http, let file = settings.accessSecretFile,
            let username = login.username, let password = login.password
        else { return nil }
        let secret = firstLine(try PrivateFile.read(file, limit: 4096))
        guard secret.count >= shortestSecret, secret.allSatisfy(\.isUnreserved) else {
            throw SettingsError(
                file: "authority.toml",
                message: "broker.access_secret_file: its first line must have \(shortestSecret) or "
                    + "more of A-Z, a-z, 0-9, -, ., _ and ~, because it is part of a URL")
        }
        let own = BrokerAccount(
            username: username, password: password, clientID: nil,
            role: BrokerRole(
                authorityUnder: settings.root, discovery: settings.discoveryPrefix))
        let data = try LiveDataReader.account(keys: keys, root: settings.root)
        return AskingBroker(
            door: StoreAccessCheck(authority: authority, own: [own, data]),
            secret: SecretBytes(secret), virtualHost: settings.virtualHost)
    }
}
