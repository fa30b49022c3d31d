import LinuxIO

/// Reports to the service manager that the agent is ready, that it is alive, and its status.
struct SupervisorReport {
    /// After this time the agent reports ready even without the local broker. A broker that is
    /// away is shown in the status and is no failed start.
    static let readyAfter = Duration.seconds(15)
    /// The most time that opening the store may take.
    static let openingTime = Duration.seconds(600)

    private let notifier: Notifier
    private var pulse: ServicePulse
    private let readyBy: Duration
    private var isReady = false

    init(_ notifier: Notifier, at now: Duration) {
        self.notifier = notifier
        pulse = ServicePulse(isHeard: notifier.isHeard, watchdog: notifier.watchdogInterval)
        readyBy = now + Self.readyAfter
    }

    /// When `beat` is due even if nothing happens; nil without a service manager.
    var nextDeadline: Duration? {
        let ready = isReady || !notifier.isHeard ? nil : readyBy
        return [pulse.nextDeadline, ready].compactMap(\.self).min()
    }

    mutating func ready() {
        isReady = true
        notifier.ready()
    }

    func stopping() { notifier.stopping() }

    /// Allows `openingTime` without a report, because opening the store may take long.
    func opening() { notifier.pause(Self.openingTime) }
    func opened() { notifier.resume() }

    /// Ends a turn: sends what is due.
    mutating func beat(at now: Duration, status: () -> String) {
        notifier.say(pulse.beat(at: now, status: status))
        if !isReady, readyBy <= now { ready() }
    }
}
