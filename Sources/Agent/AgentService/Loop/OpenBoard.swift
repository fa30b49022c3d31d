package import AgentCore
import AgentCryptography
import AgentStore
import ConfigurationFiles
import Gate
import LinuxIO
import Logging
package import Sessions
package import Wire

/// The board's state folder, locked and opened for one process. Releases the lock at its end.
package struct OpenBoard: ~Copyable {
    private let lock: FolderLock
    let store: BoardStore
    private let files: BoardFiles

    /// Throws after three seconds if an agent runs on the state folder. `note` receives the key
    /// sources that a first start passed over.
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

    /// A command holds the lock only for a moment. An agent that starts then waits this long for
    /// it.
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

    /// Releases the lock on the folder. Until then no other process can open it.
    consuming func release() {}

    /// Makes an agent from the records on disk. `report` receives one sentence for each record
    /// that cannot be read.
    func makeAgent(
        _ report: (String) -> Void = { _ in }
    ) throws(AgentFailure) -> (Agent, BoardIdentity) {
        do throws(StoreError) {
            return try makeAgent(try store.load(report), store.window)
        } catch {
            throw AgentFailure(error)
        }
    }

    /// Makes an agent that may assign sequences, and takes a prepared claim's file first. Its
    /// sequences begin after the last one that was assigned. It recognises packets and keys that
    /// have a sequence and are not on disk.
    func makeLivingAgent(
        _ log: Logger
    ) throws(AgentFailure) -> (agent: Agent, identity: BoardIdentity, given: Int64) {
        let report = { (fault: String) in log.error("\(fault)") }
        let (given, keys) = inMemory(report)
        do throws(StoreError) {
            var records = try store.load(report)
            try store.begin()
            let settled = try store.settleSequences(given)
            let saved = store.keys.last?.sequence ?? 0
            store.keep(keys.filter { $0.sequence > saved })
            records.lastSequence = settled.last
            ClaimTaking(files: files, log: log).perform(&records, store)
            let (agent, identity) = try makeAgent(
                records, store.window + settled.undurable, store.keys + store.unsavedKeys)
            return (agent, identity, settled.last)
        } catch {
            throw AgentFailure(error)
        }
    }

    private func makeAgent(
        _ records: BoardRecords, _ window: [DeliveredPacket], _ keys: [KeptKey] = []
    ) throws(StoreError) -> (Agent, BoardIdentity) {
        let agent = Agent(
            settings: files.agentSettings, cryptography: Cryptographer(), records: records,
            policy: files.policy, window: window, keys: keys, queue: store.usage)
        return (agent, records.identity)
    }

    /// The packets and keys that an agent left in memory when it crashed; empty if there are none.
    private func inMemory(_ report: (String) -> Void) -> ([DeliveredPacket], [KeptKey]) {
        let path = files.outboxSettings.volatileWindow
        guard PrivateFile.isThere(path) else { return ([], []) }
        do throws(FileFailure) {
            let window = try VolatileWindow(path)
            return (window.found, window.foundKeys)
        } catch {
            report("the last sequence numbers are not known: \(error)")
            return ([], [])
        }
    }

    /// Answers a request as a running agent would. Changes are durable on return.
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
    /// Asks the running agent, or the state on disk if no agent runs.
    package func ask(
        _ request: ControlRequest
    ) throws(AgentFailure) -> (isRunning: Bool, JSONObject) {
        if let answer = try Self.askRunning(controlPath, request) { return (true, answer) }
        try checkPolicy()
        guard request.mayBegin || BoardStore.exists(in: settings.stateDir) else {
            return (false, JSONObject(try NewBoard(self).answer(request)))
        }
        guard case .object(let members) = try OpenBoard(self).answer(request) else {
            throw AgentFailure(.failed, "the agent's answer cannot be read")
        }
        return (false, JSONObject(members))
    }

    /// Asks the agent behind a control socket; nil if no agent runs there.
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
        // While its store fails, an agent refuses every request.
        if request.isQuestion, let refusal = try? Refusal(json: answer) {
            throw AgentFailure(.failed, refusal.text)
        }
        return answer
    }
}
