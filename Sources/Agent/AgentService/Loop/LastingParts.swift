import AgentCore
import ConfigurationFiles
import LinuxIO
import Logging
import LogOutput
import MetricsServer
import Sessions
import Wire

/// The parts of the service that outlive a failure of the store: the signals, the control socket,
/// the rules, the metrics socket, the log, and the reports to the service manager.
struct LastingParts: ~Copyable {
    private let signals: SignalDescriptor
    var control: ControlServer
    var rules: RuleFiles
    private(set) var supervisor: SupervisorReport
    private var scrapes: ScrapeServer?
    private let journal: LogWriter
    private let log: Logger
    private let writesJSON: Bool
    private var signalSlot: Int?

    init(
        _ files: BoardFiles, _ signals: consuming SignalDescriptor, _ journal: LogWriter,
        _ log: Logger
    ) throws(AgentFailure) {
        do throws(FileFailure) {
            try PrivateFolder.prepare(files.settings.runDir, mode: 0o755)
            control = try ControlServer(path: files.controlPath)
        } catch {
            throw AgentFailure(error)
        }
        self.signals = signals
        self.journal = journal
        self.log = log
        writesJSON = files.settings.logFormat == .json
        rules = RuleFiles(files, log: log)
        supervisor = SupervisorReport(Notifier(), at: SystemClock.monotonic)
        scrapes = Self.scrapes(files.settings.metrics, log)
    }

    /// A failure of the metrics socket does not stop the agent: it forwards without metrics.
    private static func scrapes(_ place: MetricsPlace?, _ log: Logger) -> ScrapeServer? {
        do {
            switch place {
            case .port(let host, let port): return try ScrapeServer(host: host, port: port)
            case .socket(let path): return try ScrapeServer(path: path)
            case nil: return nil
            }
        } catch {
            log.error("metrics are not available: \(error)")
            return nil
        }
    }

    var nextDeadline: Duration? {
        mutating get {
            [
                control.nextDeadline, rules.nextDeadline, supervisor.nextDeadline,
                scrapes?.nextDeadline,
            ].compactMap(\.self).min()
        }
    }

    mutating func register(in poller: inout Poller) {
        signalSlot = poller.add(signals.descriptor, read: true, write: false)
        control.register(in: &poller)
        rules.register(in: &poller)
        scrapes?.register(in: &poller)
    }

    /// Collects what has arrived as events. Returns whether a signal asks the agent to stop.
    mutating func collect(
        _ poller: borrowing Poller, at now: Duration, into events: inout [AgentEvent]
    ) -> Bool {
        var (isReloadWanted, isStopping) = (false, false)
        if let signalSlot, poller.isReadable(signalSlot) {
            while let signal = signals.next() {
                if signal == .hangUp {
                    isReloadWanted = true
                } else {
                    isStopping = true
                }
            }
        }
        let first = events.count
        control.collect(poller, at: now, into: &events)
        // Like SIGHUP, this request confirms that the policy file was removed on purpose.
        let confirms = events[first...].contains { event in
            if case .control(.acceptNoPolicy, _) = event { true } else { false }
        }
        let change = isReloadWanted || confirms
            ? rules.reload(.signal) : rules.collect(poller, at: now)
        if let change { events.insert(change, at: first) }
        scrapes?.collect(poller, at: now)
        return isStopping
    }

    mutating func takeScrapes() -> [Int] { scrapes?.takeAsked() ?? [] }

    mutating func answerScrape(_ id: Int, _ bytes: [UInt8]) { scrapes?.answer(id, bytes) }

    /// Ends a turn: reports to the service manager, and writes what the log held back.
    mutating func beat(_ status: () -> String) {
        supervisor.beat(at: SystemClock.monotonic, status: status)
        journal.flush()
    }

    /// Says `ready`. Scripts wait for this line, so it has no time and no level unless the log is
    /// JSON.
    mutating func sayReady() {
        supervisor.ready()
        if writesJSON {
            log.info("ready")
        } else {
            ProcessEnd.say("ready", to: .error)
        }
    }

    /// Waits before the store is opened again. Requests that arrive meanwhile are refused with
    /// `sentence`, the reason of the failure. Returns false when a signal asks the agent to stop.
    mutating func rest(_ span: Duration, _ sentence: String) -> Bool {
        // Opening may have failed before it called `opened`.
        supervisor.opened()
        let end = SystemClock.monotonic + span
        var poller = Poller()
        while true {
            beat { "the store failed; the agent tries again soon: \(sentence)" }
            let now = SystemClock.monotonic
            guard now < end else { return true }
            poller.clear()
            register(in: &poller)
            let deadline = min(end, nextDeadline ?? end)
            _ = try? poller.wait(max(deadline - now, .zero))
            var events: [AgentEvent] = []
            if collect(poller, at: SystemClock.monotonic, into: &events) { return false }
            let refusal = Refusal(.quota, "the store failed; the agent tries again: \(sentence)")
            for case .control(_, let connection) in events {
                control.answer(connection, refusal.json)
            }
            for id in takeScrapes() { answerScrape(id, ScrapeAnswer.unavailable(sentence)) }
        }
    }
}
