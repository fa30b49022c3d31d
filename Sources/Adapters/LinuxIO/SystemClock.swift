import Glibc

/// The machine's clocks. Loops read them here and pass instants to cores as arguments.
package enum SystemClock {
    /// Milliseconds since the Unix epoch. It may jump, and it may be wrong.
    ///
    /// The corresponding C function is `clock_gettime` with `CLOCK_REALTIME`.
    package static var wallMilliseconds: Int64 {
        let now = read(CLOCK_REALTIME)
        return Int64(now.tv_sec) * 1000 + Int64(now.tv_nsec) / 1_000_000
    }

    /// Time since the machine started, including sleep. It never goes back.
    ///
    /// The corresponding C function is `clock_gettime` with `CLOCK_BOOTTIME`.
    package static var monotonic: Duration {
        let now = read(CLOCK_BOOTTIME)
        return .seconds(Int64(now.tv_sec)) + .nanoseconds(Int64(now.tv_nsec))
    }

    private static func read(_ clock: clockid_t) -> timespec {
        var now = timespec()
        _ = unsafe clock_gettime(clock, &now)
        return now
    }
}
