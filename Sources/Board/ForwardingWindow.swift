import Mosquitto

/// How many writes may wait for their PUBACK at a time.
///
/// libmosquitto walks all of them for each publish and each PUBACK, so there are no more than
/// the link needs. A full window whose acknowledgements take long is doubled; the doubling
/// stays where it brought a quarter more writes a second, and is taken back where the broker,
/// not the way to it, is what is waited for.
struct ForwardingWindow: Sendable {
    /// What a near broker needs, and where each connection begins.
    static let usual = Connection.inFlightWindow
    /// 10,000 writes a second at a round trip of 200 ms.
    static let largest = 2000
    /// About so many bytes of payload are in flight at the most.
    static let bytes = 1 << 20
    /// An acknowledgement that takes less leaves nothing to gain.
    private static let longWait = Duration.milliseconds(5)
    /// How many full windows pass after a doubling that brought nothing: at first, at most.
    private static let rests = 8...64

    private(set) var size = Self.usual
    /// The write that filled the window, and how many had been acknowledged when it was sent.
    private var mark: (packetID: Int32, sentAt: Duration, taken: Int64)?
    private var isMarkTaken = false
    private var taken: Int64 = 0
    private var takenWhenFull: Int64 = 0
    /// The size and the writes a second before a doubling that is being tried.
    private var trial: (size: Int, rate: Double)?
    private var rest = 0
    private var nextRest = Self.rests.lowerBound

    /// Begins with one, which each acknowledgement adds one to: after a refusal, little is on
    /// its way when the next comes.
    mutating func beginWithOne() {
        self = ForwardingWindow()
        size = 1
    }

    /// Books a write that filled the window, or the bytes, if it is one of those.
    mutating func sent(_ packetID: Int32, waiting count: Int, bytes: Int, at now: Duration) {
        guard count >= size || bytes >= Self.bytes else { return }
        takenWhenFull = taken
        if count >= size, mark == nil { mark = (packetID, now, taken) }
    }

    mutating func acknowledged(_ packetID: Int32) {
        taken += 1
        if size < Self.usual { size += 1 }
        if mark?.packetID == packetID { isMarkTaken = true }
    }

    /// Looks at what a batch of acknowledgements comes to.
    mutating func settled(at now: Duration) {
        guard isMarkTaken, let mark else {
            // No longer used to the full: half of it does.
            if size > Self.usual, taken - takenWhenFull > 4 * Int64(size) { shrink() }
            return
        }
        isMarkTaken = false
        self.mark = nil
        let wait = now - mark.sentAt
        guard wait >= Self.longWait else { return shrink() }
        adjust(rate: Double(taken - mark.taken) / (wait / .seconds(1)))
    }

    private mutating func shrink() {
        trial = nil
        takenWhenFull = taken
        if size > Self.usual { size = max(Self.usual, size / 2) }
    }

    private mutating func adjust(rate: Double) {
        if let trial {
            self.trial = nil
            guard rate >= trial.rate * 1.25 else {
                size = trial.size
                rest = nextRest
                nextRest = min(nextRest * 2, Self.rests.upperBound)
                return
            }
            nextRest = Self.rests.lowerBound
        }
        guard rest == 0 else { return rest -= 1 }
        guard size >= Self.usual, size < Self.largest else { return }
        trial = (size, rate)
        size = min(size * 2, Self.largest)
    }
}
