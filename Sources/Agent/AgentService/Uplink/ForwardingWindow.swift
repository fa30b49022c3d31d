/// How many writes may wait for their PUBACK at a time: twice what comes to be acknowledged in
/// one round trip, as TCP's BBR has it.
///
/// libmosquitto walks all that wait for each publish and each PUBACK, so there are no more than
/// the link needs. The size follows the rate of acknowledgements and the least round trip: a
/// longer one is a queue somewhere, which a larger window only lengthens. While the window is
/// what limits, the rate grows with it, so it doubles each round trip.
///
/// With a far broker, the loop's own longest turn counts as delay, too: nothing is sent in it.
/// With a near one, the bus waits instead until what it brought has left (`isNear`).
struct ForwardingWindow: Sendable {
    /// What each connection begins with, and needs at the least: with 128 a near broker carried
    /// a tenth less, with 1,000 the walk took a quarter of the agent's time.
    static let least = 256
    /// 10,000 writes a second at a round trip of 200 ms.
    static let largest = 2000
    /// About so many bytes of payload are in flight at the most.
    static let bytes = 1 << 20
    /// A round trip up to this is a near broker's.
    private static let near = Duration.milliseconds(5)
    /// So long the least round trip counts. Then it is measured again with the least window: the
    /// way may have become longer, and a full window makes every round trip long.
    private static let trust = Duration.seconds(10)
    /// How many round trips that takes, if the first of them are longer than the one before.
    private static let probes = 4

    private(set) var size = Self.least
    /// The write whose round trip is measured.
    private var mark: (packetID: Int32, sentAt: Duration)?
    private var isMarkTaken = false
    private var taken: Int64 = 0
    private var rates = RecentRates()
    private var roundTrip: (least: Duration, at: Duration)?
    /// What is left of measuring the round trip again, and the least since it began.
    private var probe: (left: Int, least: Duration?)?
    /// The longest of the loop's last turns.
    private var turn = Duration.zero

    /// Whether a few round trips take less time than a batch of the bus.
    var isNear: Bool { roundTrip.map { $0.least <= Self.near } ?? false }

    /// Begins with one, which each acknowledgement adds one to: after a refusal, little is on
    /// its way when the next comes.
    mutating func beginWithOne() {
        self = ForwardingWindow()
        size = 1
    }

    /// Books a turn of the loop: so long it did not look at what was acknowledged.
    mutating func looked(after span: Duration) { turn = max(span, turn * 7 / 8) }

    /// Books a write that was sent.
    mutating func sent(_ packetID: Int32, waiting count: Int, bytes: Int, at now: Duration) {
        if mark == nil { mark = (packetID, now) }
        rates.sent(isFull: count >= size || bytes >= Self.bytes, at: now)
    }

    mutating func acknowledged(_ packetID: Int32) {
        taken += 1
        if size < Self.least { size += 1 }
        if mark?.packetID == packetID { isMarkTaken = true }
    }

    /// Looks at what a batch of acknowledgements comes to.
    mutating func settled(at now: Duration) {
        if isMarkTaken, let mark {
            isMarkTaken = false
            self.mark = nil
            measure(now - mark.sentAt, at: now)
        }
        guard size >= Self.least, let roundTrip else { return }
        let delay = isNear ? roundTrip.least : roundTrip.least + turn
        rates.settled(taken, over: delay, at: now)
        guard probe == nil else { return size = Self.least }
        let need = 2 * rates.most * (delay / .seconds(1))
        size = min(max(Int(need.rounded(.up)), Self.least), Self.largest)
    }

    private mutating func measure(_ wait: Duration, at now: Duration) {
        let isOld = roundTrip.map { now - $0.at > Self.trust } ?? false
        if let probe {
            let least = min(wait, probe.least ?? wait)
            let isAsBefore = roundTrip.map { least <= $0.least * 5 / 4 } ?? true
            if isAsBefore || probe.left <= 1 {
                roundTrip = (least, now)
                self.probe = nil
            } else {
                self.probe = (probe.left - 1, least)
            }
        } else if let known = roundTrip, wait > known.least, size > Self.least || !isOld {
            if isOld { probe = (Self.probes, nil) }
        } else {
            roundTrip = (wait, now)
        }
    }
}

/// The highest of the last ten rates of acknowledgements, each over a delay of the link at least.
private struct RecentRates: Sendable {
    private static let count = 10
    /// Acknowledgements come in bursts: a rate over less says nothing.
    private static let leastSpan = Duration.milliseconds(10)

    private var rates: [Double] = []
    private var since: (at: Duration, taken: Int64)?
    /// Whether the window was full meanwhile: else the rate is the apps', not the link's.
    private var wasFull = false

    var most: Double { rates.max() ?? 0 }

    mutating func sent(isFull: Bool, at now: Duration) {
        if since == nil { since = (now, 0) }
        if isFull { wasFull = true }
    }

    mutating func settled(_ taken: Int64, over delay: Duration, at now: Duration) {
        guard let since, now - since.at >= max(delay, Self.leastSpan) else { return }
        let rate = Double(taken - since.taken) / ((now - since.at) / .seconds(1))
        if wasFull || rate > most {
            if rates.count == Self.count { rates.removeFirst() }
            rates.append(rate)
        }
        self.since = (now, taken)
        wasFull = false
    }
}
