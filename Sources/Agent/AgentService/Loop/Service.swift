import AgentCore
import ConfigurationFiles
import LinuxIO
import Logging
import LogOutput
import Sessions
import Wire

/// The agent as a service. It runs on the store until a signal ends it. After a failure that may
/// pass it starts again.
package struct Service {
    private let files: BoardFiles

    package init(_ files: BoardFiles) { self.files = files }

    package func run() throws(AgentFailure) -> ExitStatus {
        let journal = LogWriter(
            files.settings.logFormat == .json ? .json(program: "postern-agent") : .text)
        defer { journal.flush(atEnd: true) }
        var log = Logger(label: "postern-agent") { _ in LogWriterHandler(journal) }
        log.logLevel = Logger.Level(rawValue: files.settings.logLevel.rawValue) ?? .info
        do throws(AgentFailure) {
            let signals = try Self.signals()
            var service = try LastingParts(files, signals, journal, log)
            return try serve(&service, log)
        } catch {
            guard files.settings.logFormat == .json else { throw error }
            // A reader of the JSON log must not find a last line that is not JSON.
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

    private func serve(
        _ service: inout LastingParts, _ log: Logger
    ) throws(AgentFailure) -> ExitStatus {
        var backoff = Backoff(first: .seconds(1), limit: .seconds(30))
        while true {
            let began = SystemClock.monotonic
            let sentence: String
            do throws(AgentFailure) {
                try live(&service, log)
                return .ok
            } catch {
                // The failed change was neither published nor acknowledged: begin again from disk.
                // After a run of at least `goodLife` the backoff starts again from its first wait.
                if SystemClock.monotonic - began >= Self.goodLife { backoff.reset() }
                guard error.mayPass else { throw error }
                log.error("\(error.sentence)")
                sentence = error.sentence
            }
            guard service.rest(backoff.next(share: 0), sentence) else { return .ok }
        }
    }

    /// Opens the store and runs the loop. Returns when a signal ends it, throws when the store
    /// fails.
    private func live(
        _ service: inout LastingParts, _ log: Logger
    ) throws(AgentFailure) {
        let files = service.rules.inForce
        try files.checkIdentities()
        service.supervisor.opening()
        let board = try OpenBoard(files) { log.info("\($0)") }
        let (agent, identity, given) = try board.makeLivingAgent(log)
        service.supervisor.opened()
        let will = HealthNotice(
            up: false, pid: Int64(ProcessIdentity.processID), time: Instant.current.wall,
            uplink: "unknown")
        let bus = try files.busLogin(for: identity, will: will.payload)
        var loop = BoardLoop(
            // Moved, not copied: a copy would keep data that the agent drops.
            agent: consume agent,
            outbox: Outbox(board.store, files.outboxSettings, given: given, log: log),
            bus: BusLink(bus), uplink: UplinkLink(files.uplinkDefaults), log: log)
        switch loop.run(&service) {
        case .stopped: return
        case .storeFailed(let error): throw AgentFailure(.failed, "\(error)", mayPass: true)
        case .failed(let error): throw AgentFailure(.failed, "waiting failed: \(error)")
        }
    }
}
