import AgentCore
import AgentCryptography
import AgentStore
import Sessions
import Wire

/// A board without a state folder. It answers as an unclaimed board and creates no state. Creating
/// the state chooses the key source, and a person's shell may have fewer key sources than the
/// service.
struct NewBoard {
    private let files: BoardFiles

    init(_ files: BoardFiles) { self.files = files }

    /// Throws `notProvisioned` for a request that needs a state.
    func answer(_ request: ControlRequest) throws(AgentFailure) -> [String: JSONValue] {
        guard request == .status || request == .session else {
            throw AgentFailure(
                .notProvisioned,
                "this board was never started: start the agent, or run `postern-agent pair`")
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
            queue: QueueState(messages: 0, bytes: 0, oldest: nil))
        for effect in agent.handle(.control(request, connection: 0), at: .current) {
            guard case .answer(_, .object(var members)) = effect else { continue }
            // This identity is not stored, so nobody must claim it or look for it.
            members["installationId"] = .null
            return members
        }
        throw AgentFailure(.failed, "the agent's answer cannot be read")
    }
}

extension ControlRequest {
    /// Whether the request only reads. The agent itself never refuses such a request.
    var isQuestion: Bool {
        switch self {
        case .status, .session, .queue, .vault: true
        case .pair, .pairNew, .refresh, .logout, .rekey, .acceptNoPolicy: false
        }
    }

    /// Whether the request may create the state of a board that has none.
    var mayBegin: Bool {
        switch self {
        case .pair, .pairNew: true
        case .status, .session, .queue, .refresh, .logout, .vault, .rekey, .acceptNoPolicy: false
        }
    }
}

extension BoardIdentity {
    /// Makes a new identity, which is not stored yet.
    static func made(by cryptography: Cryptographer) throws(StoreError) -> BoardIdentity {
        do throws(CryptographyFailure) {
            let (secret, key) = try cryptography.makeDeviceKey()
            return BoardIdentity(
                installation: InstallationID(random: try cryptography.random(16)),
                deviceSecret: secret, deviceKey: key)
        } catch {
            throw .cryptography("making the device key")
        }
    }
}
