/// Accepted packets that the bus's broker may deliver again after a connection was lost.
///
/// A packet id comes back for another message sooner or later, and libmosquitto does not say
/// whether a message is a duplicate. So only what was accepted before this connection counts,
/// only once, and only before the connection's SUBACK: a broker repeats what is unacknowledged
/// before it answers or delivers anything new. Source: MQTT 5.0 §4.4 and §4.6.
struct RedeliveryWindow: Sendable {
    /// The most that is on its way unacknowledged: the reading connection's Receive Maximum.
    static let limit = 1024

    /// The newest last, at most `limit`.
    private var recent: [DeliveredPacket]
    private var expected: [UInt16: DeliveredPacket] = [:]
    private var delivered = 0

    init(_ packets: [DeliveredPacket]) {
        recent = Array(packets.suffix(Self.limit))
        restart()
    }

    var isEmpty: Bool { recent.isEmpty }

    /// A connection was lost: what it brought last may come again on the next.
    mutating func restart() {
        recent = Array(recent.suffix(Self.limit))
        expected = Dictionary(recent.map { ($0.packetID, $0) }) { $1 }
        delivered = 0
    }

    /// Counts a packet of QoS 1, whatever it is: no more than a Receive Maximum is repeated.
    mutating func count() {
        delivered += 1
        if delivered > Self.limit { expected.removeAll() }
    }

    /// What comes from now on is new. Returns the sequences that were given, are not durable and
    /// have not come again: nobody has their writes any more.
    mutating func endRedeliveries() -> [Int64] {
        defer { expected.removeAll() }
        return expected.values.filter { !$0.isDurable }.map(\.sequence).sorted()
    }

    /// What a packet was accepted as, if it comes again.
    mutating func take(_ packetID: UInt16, _ digest: UInt128) -> DeliveredPacket? {
        guard let known = expected[packetID] else { return nil }
        expected[packetID] = nil
        return known.digest == digest ? known : nil
    }

    mutating func remember(_ packet: DeliveredPacket) {
        recent.append(packet)
        if recent.count >= 2 * Self.limit { recent.removeFirst(Self.limit) }
    }
}
