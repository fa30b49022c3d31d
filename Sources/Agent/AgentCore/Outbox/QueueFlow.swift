/// How fast the outbox fills and empties, and how long it lasts at that rate.
package struct QueueOutlook: Equatable, Sendable {
    /// The longest time that is reported, in hours.
    package static let longest = 9999.0

    package var bytesPerSecondIn: Double
    package var bytesPerSecondOut: Double
    /// Hours until reading stops or dropping begins. Nil while the outbox does not grow.
    package var hoursLeft: Double?

    /// `room`: bytes until the outbox counts as full. `hasWayOut`: whether the uplink is
    /// connected. If not, the outgoing rate does not count.
    package init(in incoming: Double, out outgoing: Double, room: Int64, hasWayOut: Bool) {
        bytesPerSecondIn = incoming
        bytesPerSecondOut = outgoing
        let growth = hasWayOut ? incoming - outgoing : incoming
        guard growth > 0 else { return }
        let hours = Double(max(room, 0)) / growth / 3600
        // Two decimals are enough for a person. The rate is not more exact than that.
        hoursLeft = min((hours * 100).rounded() / 100, Self.longest)
    }
}

/// Bytes into and out of the outbox over the last five minutes, in ten slots of 30 s.
///
/// It uses the monotonic clock, so a step of the wall clock changes no rate.
struct QueueFlow: Sendable {
    static let window = Duration.seconds(300)
    private static let slotSeconds: Int64 = 30
    private static let slotCount = 10
    /// The shortest time for a useful rate, in seconds.
    private static let leastSpan = 10.0

    private struct Slot {
        var number: Int64
        var incoming: Int64 = 0
        var outgoing: Int64 = 0
    }

    private var slots: [Slot] = []
    /// When the first change occurred.
    private var begun: Duration?

    /// Records a change of the outbox's size in bytes. Dropped or destroyed messages do not count
    /// as outgoing.
    mutating func note(_ change: Int64, isLoss: Bool, at now: Duration) {
        if begun == nil { begun = now }
        let number = Self.number(now)
        if slots.last?.number != number {
            slots.removeAll { $0.number <= number - Int64(Self.slotCount) }
            slots.append(Slot(number: number))
        }
        let last = slots.count - 1
        if change > 0 {
            slots[last].incoming &+= change
        } else if !isLoss {
            slots[last].outgoing &-= change
        }
    }

    /// Bytes a second, in and out.
    func rates(at now: Duration) -> (incoming: Double, outgoing: Double) {
        guard let begun else { return (0, 0) }
        let first = Self.number(now) - Int64(Self.slotCount) + 1
        let start = max(begun, .seconds(first * Self.slotSeconds))
        let span = max(Self.leastSpan, (now - start) / .seconds(1))
        var sums = (incoming: 0.0, outgoing: 0.0)
        for slot in slots where slot.number >= first {
            sums.incoming += Double(slot.incoming)
            sums.outgoing += Double(slot.outgoing)
        }
        return (sums.incoming / span, sums.outgoing / span)
    }

    private static func number(_ time: Duration) -> Int64 {
        time.components.seconds / slotSeconds
    }
}
