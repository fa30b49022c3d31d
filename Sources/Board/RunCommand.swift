import AgentCore
import ArgumentParser
import LinuxIO
import Logging
import Sessions
import Settings
import Wire

/// `postern-agent run`: the service.
struct RunCommand: AgentVerb {
    static let configuration = CommandConfiguration(
        commandName: "run", abstract: "Run the agent until it is told to stop.")

    @OptionGroup var place: BoardPlace

    func perform() throws(AgentFailure) -> ExitStatus {
        let files = try BoardFiles(place)
        var log = Logger(label: "postern-agent") { _ in LineLog() }
        log.logLevel = Logger.Level(rawValue: files.settings.logLevel.rawValue) ?? .info
        let signals: SignalDescriptor
        do throws(SystemError) {
            signals = try SignalDescriptor([.terminate, .interrupt, .hangUp])
        } catch {
            throw AgentFailure(.failed, "\(error)")
        }
        return try serve(files, signals, log)
    }

    private static let goodLife = Duration.seconds(60)
    /// So many damaged databases are set aside before it is for a person to look.
    private static let damageLimit = 3

    private func serve(
        _ files: BoardFiles, _ signals: borrowing SignalDescriptor, _ log: Logger
    ) throws(AgentFailure) -> ExitStatus {
        var control: ControlServer
        do throws(FileFailure) {
            try PrivateFolder.prepare(files.settings.runDir, mode: 0o755)
            control = try ControlServer(path: files.controlPath)
        } catch {
            throw AgentFailure(error)
        }
        var rules = RuleFiles(files, log: log)
        var backoff = Backoff(first: .seconds(1), limit: .seconds(30))
        var damages = 0
        var isDamaged = false
        while true {
            let began = SystemClock.monotonic
            do throws(AgentFailure) {
                try live(&rules, signals, &control, log, isDamaged: isDamaged)
                return .ok
            } catch {
                // Nothing of the failed change was said or acknowledged: begin anew from disk.
                isDamaged = error.isDamage
                // What held for a while failed for another reason than what failed before it.
                if SystemClock.monotonic - began >= Self.goodLife { backoff.reset() }
                if isDamaged { damages += 1 }
                guard error.mayPass, damages <= Self.damageLimit else { throw error }
                log.error("\(error.sentence)")
            }
            guard rest(backoff.next(random: 0), signals, &rules) else { return .ok }
        }
    }

    /// One life on the database. Returns when a signal ends it, throws when the store fails.
    private func live(
        _ rules: inout RuleFiles, _ signals: borrowing SignalDescriptor,
        _ control: inout ControlServer, _ log: Logger, isDamaged: Bool
    ) throws(AgentFailure) {
        let files = rules.inForce
        try files.checkIdentities()
        let board = try StandingBoard(files, isDamaged: isDamaged) { log.critical("\($0)") }
        let (agent, identity, given) = try board.makeLivingAgent { log.error("\($0)") }
        let will = HealthNotice(
            up: false, pid: Int64(ProcessIdentity.processID), time: Instant.current.wall,
            uplink: "unknown")
        let bus = try files.busLogin(for: identity, will: will.payload)
        var loop = BoardLoop(
            agent: agent,
            outbox: Outbox(board.storage, files.outboxSettings, given: given, log: log),
            bus: BusLink(bus),
            uplink: UplinkLink(files.uplinkDefaults), notifier: Notifier(), log: log)
        switch loop.run(signals, &control, &rules) {
        case .stopped: return
        case .storeFailed(let error):
            throw AgentFailure(
                .failed, "\(error)", mayPass: true, isDamage: AgentFailure(error).isDamage)
        case .failed(let error): throw AgentFailure(.failed, "waiting failed: \(error)")
        }
    }

    /// Waits before the next life; false when a signal says there is none.
    private func rest(
        _ span: Duration, _ signals: borrowing SignalDescriptor, _ rules: inout RuleFiles
    ) -> Bool {
        var poller = Poller()
        poller.add(signals.descriptor, read: true, write: false)
        _ = try? poller.wait(span)
        while let signal = signals.next() {
            guard signal == .hangUp else { return false }
            _ = rules.reload(.signal)
        }
        return true
    }
}
