/// A queue of times, earliest first. Nothing is removed from its middle, so the caller must check
/// whether a taken entry is still valid.
struct DueQueue: Sendable {
    struct Entry: Sendable {
        let time: Duration
        let token: Int
    }

    private var heap: [Entry] = []

    var next: Duration? { heap.first?.time }

    mutating func add(_ token: Int, at time: Duration) {
        heap.append(Entry(time: time, token: token))
        var place = heap.count - 1
        while place > 0 {
            let parent = (place - 1) / 2
            guard heap[place].time < heap[parent].time else { return }
            heap.swapAt(place, parent)
            place = parent
        }
    }

    /// The earliest entry, if its time has come.
    mutating func take(at now: Duration) -> Entry? {
        guard let first = heap.first, first.time <= now else { return nil }
        let last = heap.removeLast()
        guard !heap.isEmpty else { return first }
        heap[0] = last
        sink()
        return first
    }

    private mutating func sink() {
        var place = 0
        while true {
            var least = place
            for child in [2 * place + 1, 2 * place + 2]
            where child < heap.count && heap[child].time < heap[least].time { least = child }
            guard least != place else { return }
            heap.swapAt(place, least)
            place = least
        }
    }
}
