import AuthorityCore
import BrokerClient
import Cryptography
import Logging
import Mosquitto
import Sessions
import Wire

/// A second connection to the boards' broker, which hears their data and does nothing else. It
/// stands apart from the one that serves boards, so that no flood of data delays a request.
///
/// What comes is taken with QoS 0: a message missed is a point missed on a chart.
struct DataTap: Sendable {
    static let username = "postern-authority-data"

    let login: BrokerLink.BrokerLogins
    let root: TopicRoot
    /// Has the broker let this client in, where we say whom it lets in; told whether its
    /// password was refused.
    let admit: (@Sendable (_ wasRefused: Bool) async throws(AuthorityError) -> Void)?
    let live: LiveBoards
    let logger: Logger

    /// How many messages wait for us; beyond them some are missed.
    private static let buffer = 1024

    /// Stays connected until its task is cancelled.
    func run() async {
        var pauses = BackOff()
        var wasRefused = false
        while !Task.isCancelled {
            do throws(MQTTError) {
                let client = try await connect(wasRefused)
                (pauses, wasRefused) = (BackOff(), false)
                for await event in client.events {
                    if case .message(let message) = event { live.take(message) }
                }
                await client.close()
            } catch {
                if case .brokerLogin = error { wasRefused = true }
                logger.log(
                    level: pauses.isYoung ? .debug : .warning,
                    "no live data, the broker: \(error)")
            }
            await pause(pauses.next())
        }
    }

    private func connect(_ wasRefused: Bool) async throws(MQTTError) -> BrokerClient {
        if let admit {
            do throws(AuthorityError) {
                try await admit(wasRefused)
            } catch {
                throw .brokerLogin(error.words, reasonCode: 0x87)
            }
        }
        let options = ConnectOptions(
            uri: login.uri, clientID: login.clientID, cleanStart: true, sessionExpiry: 0,
            keepAlive: 30, receiveMaximum: 64, maximumPacketSize: 2 << 20,
            username: login.username, password: login.password,
            tls: login.tls)
        let client = try await BrokerClient.connect(
            options, timeout: .seconds(5), buffer: Self.buffer)
        let codes: [UInt8]
        do throws(MQTTError) {
            codes = try await client.subscribe([Subscription("\(root)/+/data/#", .atMostOnce)])
        } catch {
            await client.close()
            throw error
        }
        guard codes.allSatisfy({ $0 < 0x80 }) else {
            await client.close()
            throw .brokerLogin("the subscription to data was refused", reasonCode: 0x87)
        }
        return client
    }
}

extension DataTap {
    /// Its account, where we make accounts. Every replica computes the same password: nothing
    /// of it is kept.
    static func account(
        keys: AuthorityKeys, root: TopicRoot
    ) throws(AuthorityError) -> BrokerAccount {
        let bytes = try SystemCryptography().hmac(
            Array("postern data tap \(root)".utf8), key: keys.tokenHash)
        return BrokerAccount(
            username: username, password: SecretBytes(Array(Base64URL.encode(bytes).utf8)),
            clientID: nil, role: BrokerRole(dataTapUnder: root))
    }

    /// Makes the account at a broker that is not ours, or brings it in line; a password that
    /// was refused is set anew.
    static func admit(
        _ account: BrokerAccount, over link: BrokerLink, wasRefused: Bool
    ) async throws(AuthorityError) {
        var commands = account.creation
        if wasRefused { commands.append(account.passwordChange) }
        for (command, answer) in zip(commands, try await link.control(commands)) {
            guard let error = answer.error, error != DynamicSecurity.clientExists,
                error != DynamicSecurity.roleExists
            else { continue }
            throw .failed(layer: "broker access", text: "\(command.name): \(error)")
        }
    }
}

extension BrokerRole {
    /// Reads data and writes nothing.
    init(dataTapUnder root: TopicRoot) {
        self.init(person: DataTap.username, filters: ["\(root)/+/data/#"])
    }
}
