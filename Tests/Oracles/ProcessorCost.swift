import Glibc

/// Holds a reader against the clock: its cost must be linear.
enum ProcessorCost {
    /// Far above what any input takes, watched or not: about 0.05 µs a byte.
    private static let nanosecondsOfByte = 3_000
    private static let nanosecondsOfInput = 1_000_000

    /// What is wrong with the time that `read` takes for `count` bytes; nil where nothing is. The
    /// least of several tries counts, for something else may have had the processor's caches.
    static func complaint(about count: Int, _ read: () -> Void) -> String? {
        let allowed = nanosecondsOfInput + nanosecondsOfByte * count
        var least = Int.max
        for _ in 0..<5 {
            least = min(least, nanoseconds(read))
            if least <= allowed { return nil }
        }
        return "\(count) bytes took \(least / 1000) µs"
    }

    /// Of this thread's processor.
    private static func nanoseconds(_ work: () -> Void) -> Int {
        func now() -> Int {
            var time = timespec()
            unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
            return time.tv_sec * 1_000_000_000 + time.tv_nsec
        }
        let begun = now()
        work()
        return now() - begun
    }
}
