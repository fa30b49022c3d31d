/// The limit on writes in flight: twice the number acknowledged in one round trip, as in TCP's
/// BBR.
///
/// For each publish and each PUBACK, libmosquitto walks all messages in flight, so the limit is no
/// larger than the link needs. It follows the rate of acknowledgements and the shortest round
/// trip. A longer round trip means a queue somewhere, and a larger window only lengthens that
/// queue. While the window is the limit, the rate grows with it, so it doubles each round trip.
///
/// With a far broker, the loop's longest recent turn is added to the delay, because nothing is
/// sent during a turn. With a near broker, the bus waits until its last batch has left (`isNear`).
struct ForwardingWindow: Sendable {
    /// The size at the start of a connection, and the smallest. With 128 a near broker carried a
    /// tenth less. With 1,000 the walk took a quarter of the agent's time.
    static let least = 256
    /// Enough for 10,000 writes a second at a round trip of 200 ms.
    static let largest = 2000
    /// The approximate limit on payload bytes in flight.
    static let bytes = 1 << 20
    /// A broker with a round trip up to this is near.
    private static let near = Duration.milliseconds(5)
    /// How long the shortest round trip is valid. Then it is measured again with the smallest
    /// window: the path may have become longer, and a full window lengthens every round trip.
    private static let trust = Duration.seconds(10)
    /// How many round trips are measured then, if the first ones are longer than before.
    private static let probes = 4

    private(set) var size = Self.least
    /// The write whose round trip is measured.
    private var mark: (packetID: Int32, sentAt: Duration)?
    private var isMarkTaken = false
    private var taken: Int64 = 0
    private var rates = RecentRates()
    private var roundTrip: (least: Duration, at: Duration)?
    /// The round trips left in this new measurement, and the shortest so far.
    private var probe: (left: Int, least: Duration?)?
    /// The longest recent turn of the loop; it decays with each turn.
    private var turn = Duration.zero

    /// Whether the broker is near: a few round trips take less time than a batch of the bus.
    var isNear: Bool { roundTrip.map { $0.least <= Self.near } ?? false }

    /// Starts again with a window of one. Each acknowledgement adds one, so that few writes are in
    /// flight if the broker refuses again.
    mutating func beginWithOne() {
        self = ForwardingWindow()
        size = 1
    }

    /// Notes the length of a turn, during which no acknowledgements were read.
    mutating func looked(after span: Duration) { turn = max(span, turn * 7 / 8) }

    /// Notes a write that was sent.
    mutating func sent(_ packetID: Int32, waiting count: Int, bytes: Int, at now: Duration) {
        if mark == nil { mark = (packetID, now) }
        rates.sent(isFull: count >= size || bytes >= Self.bytes, at: now)
    }

    mutating func acknowledged(_ packetID: Int32) {
        taken += 1
        if size < Self.least { size += 1 }
        if mark?.packetID == packetID { isMarkTaken = true }
    }

    /// Computes the size after a batch of acknowledgements.
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

/// The highest of the last ten rates of acknowledgements. Each is measured over at least one delay
/// of the link.
private struct RecentRates: Sendable {
    private static let count = 10
    /// The shortest measuring time. Acknowledgements come in bursts, so a shorter one is not
    /// reliable.
    private static let leastSpan = Duration.milliseconds(10)

    private var rates: [Double] = []
    private var since: (at: Duration, taken: Int64)?
    /// Whether the window was full meanwhile. If not, the rate is that of the apps, not of the
    /// link.
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
