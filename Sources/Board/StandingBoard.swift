import AgentCore
import BoardStore
import LinuxIO
import Sessions
import Settings
import Wire

/// The board's state while no agent runs: locked, opened, asked, and closed again.
struct StandingBoard: ~Copyable {
    private let lock: FolderLock
    let storage: BoardStorage
    private let files: BoardFiles

    /// Throws `inUse` when an agent runs on the state folder.
    init(_ files: BoardFiles) throws(AgentFailure) {
        let folder = files.settings.stateDir
        let lock = try Self.lock(folder)
        self.init(files, consume lock, try Self.open(folder, files.keyFile()))
    }

    /// The same for a life: a database that cannot be used, or that `isDamaged`, is set aside
    /// first, and what can be read of it carried into a new one; `report` hears of it. `note`
    /// hears which key sources a first start passed over.
    init(
        _ files: BoardFiles, isDamaged: Bool, note: @escaping (String) -> Void = { _ in },
        _ report: (String) -> Void
    ) throws(AgentFailure) {
        let folder = files.settings.stateDir
        let key = files.keyFile(note)
        let lock = try Self.lock(folder)
        if isDamaged { try Self.salvage(folder, key, report) }
        do throws(AgentFailure) {
            self.init(files, consume lock, try Self.open(folder, key))
        } catch {
            guard error.isDamage, !isDamaged else { throw error }
            report("the database cannot be used as it is: what can be read is recovered now")
            try Self.salvage(folder, key, report)
            self.init(files, try Self.lock(folder), try Self.open(folder, key))
        }
    }

    private static func salvage(
        _ folder: String, _ key: KeyFile, _ report: (String) -> Void
    ) throws(AgentFailure) {
        do throws(StoreError) {
            let saved = try BoardDatabase.salvage(
                folder: folder, keySource: key, at: Instant.current.wall)
            guard !saved.isWhole else {
                return report("""
                    the database was deleted, moved or damaged; all that could be read of it had \
                    been copied by then, and stands in its place now. Look at the disk.
                    """)
            }
            let records = saved.lostRecords.isEmpty
                ? "" : "; LOST: the records \(saved.lostRecords.joined(separator: ", "))"
            let numbers = saved.resumesAfter.map { "; sequences go on behind \($0)" } ?? ""
            report("""
                the database was damaged. It is kept as \(saved.setAside); \(saved.messages) \
                writes and \(saved.deadLetters) dead letters were carried into a new one, \
                \(saved.lost) sequences are booked as lost\(records)\(numbers). Look at the disk.
                """)
        } catch {
            throw AgentFailure(error)
        }
    }

    private init(_ files: BoardFiles, _ lock: consuming FolderLock, _ storage: BoardStorage) {
        self.files = files
        self.lock = lock
        self.storage = storage
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
        _ folder: String, _ key: KeyFile
    ) throws(AgentFailure) -> BoardStorage {
        do throws(StoreError) {
            return try BoardStorage(
                folder: folder, cryptography: Cryptographer(), keyFile: key)
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
            return try makeAgent(try storage.load(report), try storage.window())
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
            var records = try storage.load(report)
            let settled = try storage.settleSequences(given)
            records.lastSequence = settled.last
            let window = try storage.window()
                + settled.undurable.map { DeliveredPacket($0, isDurable: false) }
            let (agent, identity) = try makeAgent(records, window)
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
            policy: files.policy, window: window, queue: storage.queue, at: .current)
        return (agent, records.identity)
    }

    /// What an agent that ended without a word left in memory; empty where there is nothing.
    private func givenSequences(_ report: (String) -> Void) -> [WindowEntry] {
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
    func answer(_ request: ControlRequest) throws(AgentFailure) -> JSONValue {
        var (agent, _) = try makeAgent()
        do throws(StoreError) {
            var answer = JSONValue.null
            for effect in agent.handle(.control(request, connection: 0), at: .current) {
                if case .commit(let changes) = effect { try storage.commit(changes) }
                if case .answer(_, let json) = effect { answer = json }
            }
            switch request {
            case .queue(let dead):
                return QueueAnswer(storage).completed(answer, dead: dead)
            case .status: return KeyAnswer(storage).completed(status: answer)
            case .vault: return KeyAnswer(storage).shown
            case .rekey(let source): return try KeyAnswer(storage).rekeyed(to: source)
            default: return answer
            }
        } catch {
            throw AgentFailure(error)
        }
    }
}

extension BoardFiles {
    /// Asks the agent that runs, or the state on disk when none does.
    func ask(_ request: ControlRequest) throws(AgentFailure) -> (isRunning: Bool, JSONObject) {
        if let answer = try Self.askRunning(controlPath, request) { return (true, answer) }
        try checkPolicy()
        guard request.mayBegin || BoardDatabase.exists(in: settings.stateDir) else {
            return (false, JSONObject(try UnbegunBoard(self).answer(request)))
        }
        guard case .object(let members) = try StandingBoard(self).answer(request) else {
            throw AgentFailure(.failed, "the agent's answer cannot be read")
        }
        return (false, JSONObject(members))
    }

    /// Asks the agent behind a control socket; nil where none runs.
    static func askRunning(
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
