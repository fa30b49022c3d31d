import LinuxIO
package import Sessions

/// The wall clock.
@Sendable
package func systemClock() -> Timestamp { Timestamp(milliseconds: SystemClock.wallMilliseconds) }
