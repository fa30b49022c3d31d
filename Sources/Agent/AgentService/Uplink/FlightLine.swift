/// The writes in flight, the first sent first. Brokers acknowledge in order (MQTT 5 §4.6), and
/// clusters nearly so: a first that stays while others are acknowledged has lost its PUBACK.
struct FlightLine {
    /// Packet ids come again; `number` does not.
    private var entries: [(packetID: Int32, number: Int64)] = []
    private var head = 0
    private var next: Int64 = 0

    /// The number of the write that was sent now.
    mutating func append(_ packetID: Int32) -> Int64 {
        next += 1
        entries.append((packetID, next))
        return next
    }

    mutating func removeAll() {
        entries.removeAll(keepingCapacity: true)
        head = 0
    }

    /// Drops what is answered from the front, until `isInFlight` says that one is not.
    /// Whether there was any.
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
            // No more than a window of them is in flight, however long the first stays.
            entries.removeAll { !isInFlight($0.packetID, $0.number) }
            head = 0
        }
        return hasMoved
    }

    /// Whose answer has been waited for the longest; nil: nobody's.
    var first: Int32? { head < entries.count ? entries[head].packetID : nil }
}
