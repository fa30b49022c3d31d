import LinuxIO
import MQTT
import Sessions
import Wire

/// A test login at the boards' broker, and a test question to its plugin.
package struct BrokerTrial: Sendable {
    /// Why the login failed; nil if it succeeded.
    package var loginFault: String?
    /// Why access cannot be managed; nil if it can, or if it is not managed here.
    package var accessFault: String?

    package init(loginFault: String? = nil, accessFault: String? = nil) {
        self.loginFault = loginFault
        self.accessFault = accessFault
    }

    private static let patience = Duration.seconds(5)

    /// Uses its own client id, so that a running authority is not cut off. The question changes
    /// nothing: it reads the default access.
    package init(_ login: BrokerLink.BrokerLogins, managesAccess: Bool) async {
        let name = "\(EmbeddedBroker.username)-doctor-\(ProcessIdentity.processID)"
        let options = ConnectOptions(
            uri: login.uri, clientID: name, keepAlive: 0, username: login.username,
            password: login.password, tls: login.tls)
        do throws(MQTTError) {
            let client = try await BrokerClient.connect(options, timeout: Self.patience)
            if managesAccess { accessFault = await Self.ask(client, name) }
            await client.close()
        } catch {
            loginFault = "\(error)"
        }
    }

    private static func ask(_ client: BrokerClient, _ name: String) async -> String? {
        let question = DynamicSecurity.payload([
            DynamicSecurity.Command(name: "getDefaultACLAccess", members: [:])
                .json(correlation: name),
        ])
        do throws(MQTTError) {
            let codes = try await client.subscribe([Subscription(DynamicSecurity.responseTopic)])
            guard codes.allSatisfy({ $0 < 0x80 }) else {
                return "the login may not read the answers of dynamic security"
            }
            let code = try await client.publish(
                OutgoingMessage(topic: DynamicSecurity.requestTopic, payload: question))
            guard code < 0x80 else {
                return "the login may not use dynamic security: \(ReasonCode.text(code))"
            }
        } catch {
            return "\(error)"
        }
        let limit = Task {
            await pause(patience)
            await client.close()
        }
        defer { limit.cancel() }
        for await case .message(let message) in client.events {
            guard let answer = DynamicSecurity.responses(in: message.payload)[name] else {
                continue
            }
            return answer.error
        }
        return "dynamic security did not answer; is the plugin loaded?"
    }
}
