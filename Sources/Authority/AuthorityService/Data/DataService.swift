import AuthorityBroker
package import AuthorityCore
import AuthorityData
import AuthorityStore
import ConfigurationFiles
import Cryptography
import LinuxIO
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
        _ settings: ServiceSettings, _ opened: (any DataStore)?, _ folder: StateFolder,
        _ login: BrokerLink.BrokerLogins, _ link: BrokerLink, _ authority: Authority,
        _ store: any ServiceStore, _ clock: ClockGuard, _ logger: Logger
    ) throws -> DataService? {
        guard let bounds = settings.data,
            let data = opened ?? folder.dataStore(settings, logger)
        else { return nil }
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
                store: store, data: data, authority: authority, bounds: bounds, tally: tally,
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

extension StateFolder {
    /// Opens the store of records, and makes it if there is none. Nil if the authority keeps no
    /// data, or if the store cannot be used: sessions need no records.
    func dataStore(_ settings: ServiceSettings, _ logger: Logger) -> (any DataStore)? {
        guard settings.data != nil else { return nil }
        do {
            if case .postgres(let place) = store {
                return PostgreSQLDataStore(try Self.address(of: place))
            }
            // SQLite would make a file that others may read.
            if !PrivateFile.isThere(data) { _ = try NewPrivateFile(data) }
            return try SQLiteDataStore(path: data)
        } catch {
            let words = (error as? AuthorityError)?.words ?? "\(error)"
            logger.error("what boards send is not kept: \(words)")
            return nil
        }
    }

    /// The store of records if there is one. Makes none.
    package func existingData(
        _ settings: ServiceSettings
    ) async throws(AuthorityError) -> (any DataStore)? {
        guard settings.data != nil else { return nil }
        if case .postgres(let place) = store {
            let data: PostgreSQLDataStore
            do {
                data = PostgreSQLDataStore(try Self.address(of: place), connections: 1)
            } catch {
                throw .failed(layer: StoreOpening.settings, text: "\(error)")
            }
            do throws(AuthorityError) {
                if try await data.hasTables() { return data }
            } catch {
                data.close()
                throw error
            }
            data.close()
            return nil
        }
        guard PrivateFile.isThere(data) else { return nil }
        return try SQLiteDataStore(path: data)
    }
}
