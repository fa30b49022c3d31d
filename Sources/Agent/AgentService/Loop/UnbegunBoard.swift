import AgentCore
import AgentCryptography
import AgentStore
import Sessions
import Wire

/// A board without a state. It answers as one that nobody has claimed, and makes no state: what
/// keeps its key is chosen when that is made, and a person's shell may have less to choose from
/// than the service.
struct UnbegunBoard {
    private let files: BoardFiles

    init(_ files: BoardFiles) { self.files = files }

    /// Throws `notProvisioned` for what needs a state.
    func answer(_ request: ControlRequest) throws(AgentFailure) -> [String: JSONValue] {
        guard request == .status || request == .session else {
            throw AgentFailure(
                .notProvisioned,
                "this board has not begun: start the agent, or run `postern-agent pair`")
        }
        let identity: BoardIdentity
        do throws(StoreError) {
            identity = try BoardIdentity.made(by: Cryptographer())
        } catch {
            throw AgentFailure(error)
        }
        var agent = Agent(
            settings: files.agentSettings, cryptography: Cryptographer(),
            records: BoardRecords(identity: identity), policy: files.policy, window: [],
            queue: QueueState(messages: 0, bytes: 0, oldest: nil), at: .current)
        for effect in agent.handle(.control(request, connection: 0), at: .current) {
            guard case .answer(_, .object(var members)) = effect else { continue }
            // Nobody is to claim, or to look for, a board of this name: it never was.
            members["installationId"] = .null
            return members
        }
        throw AgentFailure(.failed, "the agent's answer cannot be read")
    }
}

extension ControlRequest {
    /// Whether it only asks; such a request is never refused for what it asks.
    var isQuestion: Bool {
        switch self {
        case .status, .session, .queue, .vault: true
        case .pair, .pairNew, .refresh, .logout, .rekey, .acceptNoPolicy: false
        }
    }

    /// Whether it may make the state of a board that has none.
    var mayBegin: Bool {
        switch self {
        case .pair, .pairNew: true
        case .status, .session, .queue, .refresh, .logout, .vault, .rekey, .acceptNoPolicy: false
        }
    }
}

extension BoardIdentity {
    /// A new one; it is nowhere yet.
    static func made(by cryptography: Cryptographer) throws(StoreError) -> BoardIdentity {
        do throws(CryptographyFailure) {
            let (secret, key) = try cryptography.makeDeviceKey()
            return BoardIdentity(
                installation: InstallationID(random: try cryptography.random(16)),
                deviceSecret: secret, deviceKey: key)
        } catch {
            throw .cryptography("the making of the device key")
        }
    }
}
