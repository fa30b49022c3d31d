/// When libmosquitto's keep-alive wants to look at the clock.
///
/// It counts whole seconds of its own, so it may be asked a little early; then it is asked
/// again a second later.
struct KeepAliveTimer {
    private var interval: Duration?
    private var lastRead = Duration.zero
    private var lastWrite = Duration.zero
    private var lastTick = Duration.zero

    init(seconds: UInt16) { setInterval(seconds) }

    /// The broker may ask for another interval than ours. 0: no pings.
    mutating func setInterval(_ seconds: UInt16) {
        interval = seconds == 0 ? nil : .seconds(Int(seconds))
    }

    mutating func started(at now: Duration) { (lastRead, lastWrite) = (now, now) }
    mutating func hasRead(at now: Duration) { lastRead = now }
    mutating func hasWritten(at now: Duration) { lastWrite = now }

    /// libmosquitto counts anew from a tick that was due, whether it pinged or gave up.
    mutating func ticked(at now: Duration) {
        lastTick = now
        if let interval, now >= min(lastRead, lastWrite) + interval { started(at: now) }
    }

    func next(at now: Duration) -> Duration? {
        guard let interval else { return nil }
        let due = max(min(lastRead, lastWrite) + interval, lastTick + .seconds(1))
        return max(.zero, due - now)
    }
}
