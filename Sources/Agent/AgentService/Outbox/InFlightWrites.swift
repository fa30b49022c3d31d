/// The writes in flight, in the order in which they were sent. Brokers acknowledge in order (MQTT
/// 5 §4.6), and clusters nearly so. If the first stays while others are acknowledged, its PUBACK
/// is lost.
struct InFlightWrites {
    /// Packet ids are reused; `number` is not.
    private var entries: [(packetID: Int32, number: Int64)] = []
    private var head = 0
    private var next: Int64 = 0

    /// Adds a write. Returns its number.
    mutating func append(_ packetID: Int32) -> Int64 {
        next += 1
        entries.append((packetID, next))
        return next
    }

    mutating func removeAll() {
        entries.removeAll(keepingCapacity: true)
        head = 0
    }

    /// Removes answered writes from the front, up to the first that is in flight. Returns whether
    /// it removed any.
    mutating func advance(isInFlight: (_ packetID: Int32, _ number: Int64) -> Bool) -> Bool {
        let before = head
        while head < entries.count,
            !isInFlight(entries[head].packetID, entries[head].number)
        {
            head += 1
        }
        let hasMoved = head > before
        if head == entries.count {
            removeAll()
        } else if entries.count > 2 * ForwardingWindow.largest {
            // At most one window of entries is in flight, however long the first stays.
            entries.removeAll { !isInFlight($0.packetID, $0.number) }
            head = 0
        }
        return hasMoved
    }

    /// The packet id that has waited longest; nil if none waits.
    var first: Int32? { head < entries.count ? entries[head].packetID : nil }
}
