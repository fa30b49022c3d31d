/// Computes when to call libmosquitto's keep-alive.
///
/// libmosquitto counts whole seconds, so a call may come a little early. It is repeated a second
/// later then.
struct KeepAliveTimer {
    private var interval: Duration?
    private var lastRead = Duration.zero
    private var lastWrite = Duration.zero
    private var lastTick = Duration.zero

    init(seconds: UInt16) { setInterval(seconds) }

    /// Sets the interval, which the broker may change. 0: no pings.
    mutating func setInterval(_ seconds: UInt16) {
        interval = seconds == 0 ? nil : .seconds(Int(seconds))
    }

    mutating func started(at now: Duration) { (lastRead, lastWrite) = (now, now) }
    mutating func hasRead(at now: Duration) { lastRead = now }
    mutating func hasWritten(at now: Duration) { lastWrite = now }

    /// After a tick that was due, libmosquitto starts to count again, whether it sent a ping or
    /// ended the connection.
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
