import AuthorityBroker
import AuthorityCore
import AuthorityStore
import Cryptography
import Logging
import Sessions
import Wire

/// The store of records, and the parts that fill and trim it.
struct DataService: Sendable {
    let store: any DataStore
    let reader: DataReader
    let trimming: DataTrimming
    let tally: DataTally

    /// Runs until its task is cancelled.
    func run() async {
        await withTaskGroup { group in
            group.addTask { await reader.run() }
            group.addTask { await trimming.run() }
        }
    }
}

extension AuthorityServer {
    /// Nil if the authority keeps no data.
    static func data(
        _ settings: ServiceSettings, _ opened: (any DataStore)?, _ login: BrokerLink.BrokerLogins,
        _ link: BrokerLink, _ authority: Authority, _ store: any ServiceStore,
        _ clock: ClockGuard, _ logger: Logger
    ) throws -> DataService? {
        guard let bounds = settings.data, let data = opened else { return nil }
        let (login, admit) = try dataLogin(
            settings, authority.ownKeys, login, link,
            client: try clientName(authority.ownKeys, root: settings.root))
        let tally = DataTally()
        return DataService(
            store: data,
            reader: DataReader(
                login: login, root: settings.root, admit: admit, store: store, data: data,
                bounds: bounds, authority: authority, tally: tally,
                mayStore: { clock.mayAnswer }, logger: logger),
            trimming: DataTrimming(
                store: store, data: data, bounds: bounds, tally: tally,
                mayTrim: { clock.mayAnswer }, logger: logger),
            tally: tally)
    }

    /// The same for all authorities of a store, and after each start, so that the broker finds the
    /// durable session. It is secret: mosquitto gives a session to any client that connects with
    /// its id, whatever its login is.
    private static func clientName(
        _ keys: AuthorityKeys, root: TopicRoot
    ) throws(AuthorityError) -> String {
        Base64URL.encode(
            try SystemCryptography().hmac(
                Array("postern data reader \(root)".utf8), key: keys.tokenHash))
    }
}
