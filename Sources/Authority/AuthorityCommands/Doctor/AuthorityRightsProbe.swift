import AuthorityBroker
import AuthorityCore
import Cryptography
import Doctor
import LinuxIO
import MQTT
import Sessions
import Wire

/// Tries actions at the boards' broker that it must refuse, for `postern-authority doctor --prove`.
struct AuthorityRightsProbe {
    let login: BrokerLink.BrokerLogins
    let root: TopicRoot
    private static let patience = Duration.seconds(20)

    /// Tries them without a login. If the broker's plugin can be commanded, it also tries them with
    /// the authority's login and as a board. That board does not exist: its login is created for
    /// the test and deleted again. A login that a crash leaves behind has the authority's mark and
    /// an unknown password. The next start of the service removes it.
    func proof(managesAccess: Bool) async -> RightsProof {
        var proof = RightsProof()
        proof.tryStrangers(at: options("prove", nil, nil))
        guard managesAccess else {
            for part in [RightsProof.Part.inbox, .authority, .list, .control] {
                proof.untried[part] = "logins are managed elsewhere, so none can be used to try it"
            }
            return proof
        }
        let list = [RightsTrial.Act.publish(RightsProof.foreign)]
        proof.note(
            .list, list, of: RightsTrial.run(list, as: ours("prove")), as: "the authority's login")
        do {
            try await tryBoard(&proof)
        } catch {
            let words = Exit.words(for: error)
            for part in [RightsProof.Part.inbox, .authority, .control] {
                proof.untried[part] = words
            }
        }
        return proof
    }

    private func tryBoard(_ proof: inout RightsProof) async throws {
        let own = InstallationID(random: try RandomBytes.make(16))
        let other = InstallationID(random: try RandomBytes.make(16))
        let password = SecretBytes(Array(
            Base64URL.encode(try RandomBytes.secret(24).reveal()).utf8))
        let account = BrokerAccount(
            board: own, login: .init(password: password, extraTopics: []), root: root)
        let client = try await BrokerClient.connect(ours("prove-access"), timeout: Self.patience)
        let limit = Task {
            await pause(Self.patience)
            await client.close()
        }
        defer { limit.cancel() }
        try await client.subscribe([Subscription(DynamicSecurity.responseTopic)])
        let fault = try await tell(client, account.creation)
        if fault == nil {
            proof.tryBoard(
                as: options(clientID: account.clientID ?? "", account.username, password),
                own: own, other: other, root: root, witness: ours("prove-witness"))
        }
        let left = try await tell(client, BrokerAccount.removal(
            username: account.username, role: account.role.name))
        await client.close()
        if let words = fault ?? left {
            throw AuthorityError.failed(layer: "broker access", text: words)
        }
    }

    /// Sends the commands. Returns the first error, or nil.
    private func tell(
        _ client: BrokerClient, _ commands: [DynamicSecurity.Command]
    ) async throws(MQTTError) -> String? {
        let tag = Base64URL.encode((0..<8).map { _ in UInt8.random(in: 0 ... .max) })
        let names = commands.indices.map { "\(tag)-\($0)" }
        let code = try await client.publish(OutgoingMessage(
            topic: DynamicSecurity.requestTopic,
            payload: DynamicSecurity.payload(
                zip(commands, names).map { $0.json(correlation: $1) })))
        guard code < 0x80 else {
            return "the login may not use dynamic security: \(ReasonCode.text(code))"
        }
        for await case .message(let message) in client.events {
            let answers = DynamicSecurity.responses(in: message.payload)
            guard answers.keys.contains(where: names.contains) else { continue }
            return names.compactMap { answers[$0]?.error }.first
        }
        return "dynamic security did not answer"
    }

    private func ours(_ purpose: String) -> ConnectOptions {
        options(purpose, login.username, login.password)
    }

    private func options(
        _ purpose: String, _ username: String?, _ password: SecretBytes?
    ) -> ConnectOptions {
        let name = "\(EmbeddedBroker.username)-\(purpose)-\(ProcessIdentity.processID)"
        return options(clientID: name, username, password)
    }

    private func options(
        clientID: String, _ username: String?, _ password: SecretBytes?
    ) -> ConnectOptions {
        ConnectOptions(
            uri: login.uri, clientID: clientID, keepAlive: 0, username: username,
            password: password, tls: login.tls)
    }
}

extension AuthorityCheck {
    /// The checks that only `doctor --prove` runs.
    static let proofs = upstreamProofs(group: .broker, needs: [.served, .broker, .proof]) {
        $0.proof
    }
}
