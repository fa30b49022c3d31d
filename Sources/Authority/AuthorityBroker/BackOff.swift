/// Backoff between attempts: 20 ms at first, 5 s at most.
package struct BackOff {
    private static let first = Duration.milliseconds(20)
    private var pause = first

    package init() {}

    /// An embedded broker starts at the same time, so the first failures are not logged as
    /// warnings.
    package var isYoung: Bool { pause < Self.first * 16 }

    package mutating func next() -> Duration {
        defer { pause = min(pause * 2, .seconds(5)) }
        return pause
    }
}

/// Waits, or returns at once if the task is cancelled. The caller checks for cancellation.
package func pause(_ span: Duration) async {
    do { try await Task.sleep(for: span) } catch {}
}
