import Glibc

/// Waits until one of a few descriptors is ready. It is the only place where a loop blocks.
///
/// In each round call `clear`, `add` for each descriptor, `wait`, and then ask. Nothing is
/// allocated once the array has its size. The corresponding C function is `poll`.
package struct Poller: ~Copyable {
    private var entries: [pollfd] = []

    package init() {}

    /// Removes all descriptors and keeps the memory.
    package mutating func clear() {
        entries.removeAll(keepingCapacity: true)
    }

    /// Adds a descriptor and returns its slot. Without `read` and `write` only its hang-up or error
    /// ends the wait.
    @discardableResult
    package mutating func add(_ descriptor: Int32, read: Bool, write: Bool) -> Int {
        let events = (read ? Int16(POLLIN) : 0) | (write ? Int16(POLLOUT) : 0)
        entries.append(pollfd(fd: descriptor, events: events, revents: 0))
        return entries.count - 1
    }

    /// Blocks until a descriptor is ready or `timeout` has passed (`nil`: no limit).
    ///
    /// After a signal it waits for the rest of the time. Returns how many descriptors are ready, 0
    /// after the timeout.
    package mutating func wait(_ timeout: Duration?) throws(SystemError) -> Int {
        let deadline = timeout.map { SystemClock.monotonic + $0 }
        var left = timeout
        while true {
            let count = poll(left)
            if count >= 0 { return Int(count) }
            if errno != EINTR { throw .last("poll") }
            if let deadline { left = deadline - SystemClock.monotonic }
        }
    }

    private mutating func poll(_ timeout: Duration?) -> Int32 {
        let count = nfds_t(entries.count)
        return unsafe entries.withUnsafeMutableBufferPointer { buffer in
            unsafe Glibc.poll(buffer.baseAddress, count, Self.milliseconds(timeout))
        }
    }

    /// Whether a read of the slot's descriptor would not block: there is data, an end or an error.
    package func isReadable(_ slot: Int) -> Bool {
        has(POLLIN | POLLHUP | POLLERR | POLLNVAL, slot)
    }

    /// Whether a write to the slot's descriptor would not block. An error counts as ready.
    package func isWritable(_ slot: Int) -> Bool {
        has(POLLOUT | POLLHUP | POLLERR | POLLNVAL, slot)
    }

    private func has(_ events: Int32, _ slot: Int) -> Bool {
        guard entries.indices.contains(slot) else { return false }
        return Int32(entries[slot].revents) & events != 0
    }

    /// Rounds up, so that a loop does not wake just before its deadline.
    private static func milliseconds(_ duration: Duration?) -> Int32 {
        guard let duration else { return -1 }
        guard duration > .zero else { return 0 }
        let parts = duration.components
        guard parts.seconds < 1_000_000 else { return 1_000_000_000 }
        let rest = (parts.attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
        return Int32(parts.seconds * 1000 + rest)
    }
}
