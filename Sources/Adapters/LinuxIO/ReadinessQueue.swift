import CLinux
import Glibc

/// Waits for many descriptors at once. The cost of a wait depends on the ready descriptors, not on
/// the watched ones.
///
/// Each descriptor has a token, and `ready` returns the tokens. A closed descriptor is no longer
/// watched. The corresponding C functions are `epoll_create1`, `epoll_ctl` and `epoll_wait`.
package struct ReadinessQueue: ~Copyable {
    private let handle: Descriptor
    private var tokens: [UInt64]
    private var count = 0

    /// The largest number of descriptors that one wait reports. The next wait reports the others.
    private static let room = 256

    package init() throws(SystemError) {
        let raw = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard raw >= 0 else { throw .last("epoll_create1") }
        handle = Descriptor(owning: raw)
        tokens = Array(repeating: 0, count: Self.room)
    }

    /// Watches a descriptor, or changes its events. Without `read` and `write` only its hang-up or
    /// error ends a wait.
    package func watch(
        _ descriptor: Int32, token: UInt64, read: Bool, write: Bool
    ) throws(SystemError) {
        let events = (read ? UInt32(EPOLLIN.rawValue) : 0)
            | (write ? UInt32(EPOLLOUT.rawValue) : 0)
        let queue = handle.raw
        if watch_descriptor(queue, EPOLL_CTL_MOD, descriptor, events, token) == 0 { return }
        guard errno == ENOENT else { throw .last("epoll_ctl") }
        guard watch_descriptor(queue, EPOLL_CTL_ADD, descriptor, events, token) == 0 else {
            throw .last("epoll_ctl")
        }
    }

    /// Blocks until a descriptor is ready or `timeout` has passed. A signal may shorten the wait.
    package mutating func wait(_ timeout: Duration) throws(SystemError) {
        let parts = timeout.components
        let rest = (parts.attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
        let milliseconds = Int32(clamping: max(0, min(parts.seconds, 1_000_000) * 1000 + rest))
        let room = Int32(tokens.count)
        let number = unsafe await_descriptors(handle.raw, &tokens, room, milliseconds)
        guard number >= 0 || errno == EINTR else { throw .last("epoll_wait") }
        count = max(0, Int(number))
    }

    /// The tokens of the descriptors that the last wait found ready.
    package var ready: [UInt64] { Array(tokens.prefix(count)) }
}
