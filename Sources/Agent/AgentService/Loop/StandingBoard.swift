package import AgentCore
import AgentCryptography
import AgentStore
import ConfigurationFiles
import Gate
import LinuxIO
package import Sessions
package import Wire

/// The board's state while no agent runs: locked, opened, asked, and closed again.
package struct StandingBoard: ~Copyable {
    private let lock: FolderLock
    let store: BoardStore
    private let files: BoardFiles

    /// Throws `inUse` when an agent runs on the state folder. `note` hears which key sources a
    /// first start passed over.
    package init(
        _ files: BoardFiles, note: @escaping (String) -> Void = { _ in }
    ) throws(AgentFailure) {
        let folder = files.settings.stateDir
        let lock = try Self.lock(folder)
        let store = try Self.open(folder, files.keyFile(note), files.settings.outbox.maxBytes.bytes)
        self.lock = lock
        self.store = store
        self.files = files
    }

    /// A command has the folder for a moment: an agent that starts then is not to fail by it.
    private static let patience = Duration.seconds(3)

    private static func lock(_ folder: String) throws(AgentFailure) -> FolderLock {
        let end = SystemClock.monotonic + patience
        do throws(FileFailure) {
            try PrivateFolder.prepare(folder)
            while true {
                do throws(FileFailure) {
                    return try FolderLock(folder)
                } catch {
                    guard case .inUse = error, SystemClock.monotonic < end else { throw error }
                }
                var poller = Poller()
                _ = try? poller.wait(.milliseconds(20))
            }
        } catch {
            throw AgentFailure(error)
        }
    }

    private static func open(
        _ folder: String, _ key: KeyFile, _ limit: Int64
    ) throws(AgentFailure) -> BoardStore {
        do throws(StoreError) {
            return try BoardStore(
                folder: folder, keyFile: key, segmentBytes: BoardStore.segmentBytes(of: limit)
            ) { () throws(StoreError) in try BoardIdentity.made(by: Cryptographer()) }
        } catch {
            throw AgentFailure(error)
        }
    }

    /// Gives the folder up. Until then nobody else has it.
    consuming func release() {}

    /// What of the board's records cannot be read is said to `report`, a sentence each.
    func makeAgent(
        _ report: (String) -> Void = { _ in }
    ) throws(AgentFailure) -> (Agent, BoardIdentity) {
        do throws(StoreError) {
            return try makeAgent(try store.load(report), store.window)
        } catch {
            throw AgentFailure(error)
        }
    }

    /// The same, for a life that gives sequences: it goes on after the last one that was given,
    /// and knows again what was given one and is not on disk.
    func makeLivingAgent(
        _ report: (String) -> Void
    ) throws(AgentFailure) -> (agent: Agent, identity: BoardIdentity, given: Int64) {
        let given = givenSequences(report)
        do throws(StoreError) {
            var records = try store.load(report)
            try store.begin()
            let settled = try store.settleSequences(given)
            records.lastSequence = settled.last
            let (agent, identity) = try makeAgent(records, store.window + settled.undurable)
            return (agent, identity, settled.last)
        } catch {
            throw AgentFailure(error)
        }
    }

    private func makeAgent(
        _ records: BoardRecords, _ window: [DeliveredPacket]
    ) throws(StoreError) -> (Agent, BoardIdentity) {
        let agent = Agent(
            settings: files.agentSettings, cryptography: Cryptographer(), records: records,
            policy: files.policy, window: window, queue: store.usage, at: .current)
        return (agent, records.identity)
    }

    /// What an agent that ended without a word left in memory; empty where there is nothing.
    private func givenSequences(_ report: (String) -> Void) -> [DeliveredPacket] {
        let path = files.outboxSettings.volatileWindow
        guard PrivateFile.isThere(path) else { return [] }
        do throws(FileFailure) {
            return try VolatileWindow(path).found
        } catch {
            report("the sequences given last are not known: \(error)")
            return []
        }
    }

    /// Answers a request as a running agent would; what it changes is durable on return.
    package func answer(_ request: ControlRequest) throws(AgentFailure) -> JSONValue {
        var (agent, _) = try makeAgent()
        do throws(StoreError) {
            var answer = JSONValue.null
            for effect in agent.handle(.control(request, connection: 0), at: .current) {
                if case .commit(let changes) = effect { try store.commit(changes) }
                if case .answer(_, let json) = effect { answer = json }
            }
            switch request {
            case .queue(let dead):
                return QueueAnswer(store).completed(answer, dead: dead)
            case .status: return KeyAnswer(store).completed(status: answer)
            case .vault: return KeyAnswer(store).shown
            case .rekey(let source): return try KeyAnswer(store).rekeyed(to: source)
            default: return answer
            }
        } catch {
            throw AgentFailure(error)
        }
    }
}

extension BoardFiles {
    /// Asks the agent that runs, or the state on disk when none does.
    package func ask(
        _ request: ControlRequest
    ) throws(AgentFailure) -> (isRunning: Bool, JSONObject) {
        if let answer = try Self.askRunning(controlPath, request) { return (true, answer) }
        try checkPolicy()
        guard request.mayBegin || BoardStore.exists(in: settings.stateDir) else {
            return (false, JSONObject(try UnbegunBoard(self).answer(request)))
        }
        guard case .object(let members) = try StandingBoard(self).answer(request) else {
            throw AgentFailure(.failed, "the agent's answer cannot be read")
        }
        return (false, JSONObject(members))
    }

    /// Asks the agent behind a control socket; nil where none runs.
    package static func askRunning(
        _ path: String, _ request: ControlRequest
    ) throws(AgentFailure) -> JSONObject? {
        let answer: JSONObject
        do throws(ControlClient.Failure) {
            let bytes = try ControlClient.request(
                path, request.json.bytes, timeout: ControlServer.answerPatience)
            guard let read = try? JSONObject(parsing: bytes) else { throw .brokenAnswer }
            answer = read
        } catch {
            switch error {
            case .notRunning: return nil
            case .notPermitted: throw AgentFailure(.notPermitted, "\(error)")
            case .timedOut, .brokenAnswer, .failed: throw AgentFailure(.failed, "\(error)")
            }
        }
        // An agent whose store fails answers everything so, until it opens again.
        if request.isQuestion, let refusal = try? Refusal(json: answer) {
            throw AgentFailure(.failed, refusal.text)
        }
        return answer
    }
}
