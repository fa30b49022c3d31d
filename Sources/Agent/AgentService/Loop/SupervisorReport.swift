import LinuxIO

/// What the service manager is told of this agent: that it is ready, that it lives, how it is.
struct SupervisorReport {
    /// So long the local broker may take before the agent counts as started without it: a
    /// broker that is away is told in the status, and is no failed start of ours.
    static let readyAfter = Duration.seconds(15)
    /// What opening the store may take.
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

    /// When `beat` is wanted although nothing happens; nil where nobody listens.
    var nextDeadline: Duration? {
        let ready = isReady || !notifier.isHeard ? nil : readyBy
        return [pulse.nextDeadline, ready].compactMap(\.self).min()
    }

    mutating func ready() {
        isReady = true
        notifier.ready()
    }

    func stopping() { notifier.stopping() }

    /// The work that follows may take long without a word.
    func opening() { notifier.pause(Self.openingTime) }
    func opened() { notifier.resume() }

    /// A turn is done.
    mutating func beat(at now: Duration, status: () -> String) {
        notifier.say(pulse.beat(at: now, status: status))
        if !isReady, readyBy <= now { ready() }
    }
}
