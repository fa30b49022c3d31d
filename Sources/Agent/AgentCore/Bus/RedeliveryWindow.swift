/// Accepted packets that the bus's broker may deliver again after a lost connection.
///
/// A packet id is used again for another message, and libmosquitto does not report duplicates. So
/// a packet counts as a redelivery only if it was accepted before this connection. It counts only
/// once, and only before the connection's SUBACK. A broker repeats unacknowledged messages before
/// it answers or delivers anything new. Source: MQTT 5.0 §4.4 and §4.6.
struct RedeliveryWindow: Sendable {
    /// The most packets without an acknowledgement: the reading connection's Receive Maximum.
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

    /// Prepares for a new connection, on which the last packets may come again.
    mutating func restart() {
        recent = Array(recent.suffix(Self.limit))
        expected = Dictionary(recent.map { ($0.packetID, $0) }) { $1 }
        delivered = 0
    }

    /// Counts a QoS 1 packet of any content. A broker repeats no more than a Receive Maximum.
    mutating func count() {
        delivered += 1
        if delivered > Self.limit { expected.removeAll() }
    }

    /// Treats all later packets as new. Returns sequence numbers that were assigned but are not
    /// durable and did not come again. Their writes are lost.
    mutating func endRedeliveries() -> [Int64] {
        defer { expected.removeAll() }
        return expected.values.filter { !$0.isDurable }.map(\.sequence).sorted()
    }

    /// The earlier acceptance of this packet, if it is a redelivery.
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
