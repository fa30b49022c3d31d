import CLinux
import Glibc

/// Waits for very many descriptors at once: a wait costs what is ready, not what is watched.
///
/// Each descriptor has a token, by which `ready` names it. A descriptor that is closed is
/// watched no longer. The corresponding C functions are `epoll_create1`, `epoll_ctl` and
/// `epoll_wait`.
package struct ReadinessQueue: ~Copyable {
    private let handle: Descriptor
    private var tokens: [UInt64]
    private var count = 0

    /// How many descriptors one wait tells of; the others come next time.
    private static let room = 256

    package init() throws(SystemError) {
        let raw = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard raw >= 0 else { throw .last("epoll_create1") }
        handle = Descriptor(owning: raw)
        tokens = Array(repeating: 0, count: Self.room)
    }

    /// Watches a descriptor, or changes for what it is watched. Without `read` and `write` only
    /// a hang-up or an error of it ends a wait.
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

    /// Blocks until a descriptor is ready or `timeout` is over; a signal may shorten the wait.
    package mutating func wait(_ timeout: Duration) throws(SystemError) {
        let parts = timeout.components
        let rest = (parts.attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
        let milliseconds = Int32(clamping: max(0, min(parts.seconds, 1_000_000) * 1000 + rest))
        let room = Int32(tokens.count)
        let number = unsafe await_descriptors(handle.raw, &tokens, room, milliseconds)
        guard number >= 0 || errno == EINTR else { throw .last("epoll_wait") }
        count = max(0, Int(number))
    }

    /// The tokens of what the last wait found ready.
    package var ready: [UInt64] { Array(tokens.prefix(count)) }
}
