import AgentCore
import ArgumentParser
import Journal
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
        let journal = Journal(
            files.settings.logFormat == .json ? .json(program: "postern-agent") : .text)
        defer { journal.flush(atEnd: true) }
        var log = Logger(label: "postern-agent") { _ in JournalHandler(journal) }
        log.logLevel = Logger.Level(rawValue: files.settings.logLevel.rawValue) ?? .info
        do throws(AgentFailure) {
            let signals = try Self.signals()
            var service = try StandingService(files, signals, journal, log)
            return try serve(&service, log)
        } catch {
            guard files.settings.logFormat == .json else { throw error }
            // Who reads JSON is not to meet a last line that is none.
            log.critical("\(error.sentence)")
            return error.status
        }
    }

    private static func signals() throws(AgentFailure) -> SignalDescriptor {
        do throws(SystemError) {
            return try SignalDescriptor([.terminate, .interrupt, .hangUp])
        } catch {
            throw AgentFailure(.failed, "\(error)")
        }
    }

    private static let goodLife = Duration.seconds(60)
    /// So many damaged databases are set aside before it is for a person to look.
    private static let damageLimit = 3

    private func serve(
        _ service: inout StandingService, _ log: Logger
    ) throws(AgentFailure) -> ExitStatus {
        var backoff = Backoff(first: .seconds(1), limit: .seconds(30))
        var damages = 0
        var isDamaged = false
        while true {
            let began = SystemClock.monotonic
            let sentence: String
            do throws(AgentFailure) {
                try live(&service, log, isDamaged: isDamaged)
                return .ok
            } catch {
                // Nothing of the failed change was said or acknowledged: begin anew from disk.
                // What the next life salvages may be whole after that.
                let maySalvage = error.isDamage && !isDamaged
                isDamaged = error.isDamage
                // What held for a while failed for another reason than what failed before it.
                if SystemClock.monotonic - began >= Self.goodLife { backoff.reset() }
                if isDamaged { damages += 1 }
                guard error.mayPass || maySalvage, damages <= Self.damageLimit else {
                    throw error
                }
                log.error("\(error.sentence)")
                sentence = error.sentence
            }
            guard service.rest(backoff.next(share: 0), sentence) else { return .ok }
        }
    }

    /// One life on the database. Returns when a signal ends it, throws when the store fails.
    private func live(
        _ service: inout StandingService, _ log: Logger, isDamaged: Bool
    ) throws(AgentFailure) {
        let files = service.rules.inForce
        try files.checkIdentities()
        service.supervisor.opening()
        let board = try StandingBoard(
            files, isDamaged: isDamaged, note: { log.info("\($0)") },
            { log.critical("\($0)") })
        let (agent, identity, given) = try board.makeLivingAgent { log.error("\($0)") }
        service.supervisor.opened()
        let will = HealthNotice(
            up: false, pid: Int64(ProcessIdentity.processID), time: Instant.current.wall,
            uplink: "unknown")
        let bus = try files.busLogin(for: identity, will: will.payload)
        var loop = BoardLoop(
            // A second one would keep what the first forgets.
            agent: consume agent,
            outbox: Outbox(board.storage, files.outboxSettings, given: given, log: log),
            bus: BusLink(bus), uplink: UplinkLink(files.uplinkDefaults), log: log)
        switch loop.run(&service) {
        case .stopped: return
        case .storeFailed(let error):
            throw AgentFailure(
                .failed, "\(error)", mayPass: true, isDamage: AgentFailure(error).isDamage)
        case .failed(let error): throw AgentFailure(.failed, "waiting failed: \(error)")
        }
    }
}
