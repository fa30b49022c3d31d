import AuthorityCore
import Cryptography
package import Logging
import MQTT
import Sessions
import Wire

/// Cuts a client's open connection at a broker that has no command for it. A client that connects
/// under a client id takes over the existing connection of that id.
/// Source: MQTT 3.1.1 §3.1.4, MQTT 5 §3.1.4-3.
///
/// It needs an account that may use any client id, as the authority's own may.
package struct ClientTakeover: Sendable {
    let login: BrokerLink.BrokerLogins
    let logger: Logger
    /// How long to wait for a client that the broker let in just before.
    let watch: Duration

    package init(
        login: BrokerLink.BrokerLogins, logger: Logger, watch: Duration = .milliseconds(500)
    ) {
        (self.login, self.watch) = (login, watch)
        self.logger = logger
    }

    private static let rounds = 5

    /// Ends the connection of `clientID`, or finds that there is none. Its last will may or may not
    /// be published.
    ///
    /// `isFinal`: the client may not connect again. The broker may have asked about it before that
    /// and let it in only now. Such a client takes the id over from this connection, which shows
    /// it, and it is cut too.
    func end(_ clientID: String, isFinal: Bool) async throws(AuthorityError) {
        for _ in 0..<Self.rounds {
            let client = try await takePlace(of: clientID)
            let wasTaken = isFinal ? await isTaken(from: client) : false
            await client.close()
            guard wasTaken else { return }
        }
        throw .failed(layer: "broker access", text: "a client without access keeps reconnecting")
    }

    /// Tests whether the second client of an id ends the first one. False, too, if the broker
    /// cannot be reached.
    func isSeen() async -> Bool {
        do {
            let random = Base64URL.encode(try RandomBytes.make(8))
            let name = "\(EmbeddedBroker.username)-proof-\(random)"
            let first = try await takePlace(of: name)
            do throws(AuthorityError) {
                let second = try await takePlace(of: name)
                let isSeen = await isTaken(from: first)
                await first.close()
                await second.close()
                return isSeen
            } catch {
                await first.close()
                throw error
            }
        } catch {
            logger.debug("a takeover could not be proved: \(error)")
            return false
        }
    }

    private func takePlace(of clientID: String) async throws(AuthorityError) -> BrokerClient {
        let options = ConnectOptions(
            uri: login.uri, clientID: clientID, cleanStart: true, sessionExpiry: 0,
            keepAlive: 30, username: login.username, password: login.password,
            tls: login.tls)
        do throws(MQTTError) {
            return try await BrokerClient.connect(options, timeout: .seconds(5), buffer: 1)
        } catch {
            throw .failed(layer: error.layer?.rawValue ?? "MQTT", text: "\(error)")
        }
    }

    /// Whether this connection ends within `watch`.
    private func isTaken(from client: BrokerClient) async -> Bool {
        let end = ContinuousClock.now + watch
        while ContinuousClock.now < end, client.isConnected { await pause(.milliseconds(20)) }
        return !client.isConnected
    }
}
