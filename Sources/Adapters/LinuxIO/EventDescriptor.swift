import CLinux
import Glibc

/// A counter that another thread raises to end a poll.
///
/// The corresponding C function is `eventfd`.
package final class EventDescriptor: Sendable {
    private let handle: Descriptor

    package init() throws(SystemError) {
        let raw = eventfd(0, Int32(EFD_NONBLOCK) | Int32(EFD_CLOEXEC))
        guard raw >= 0 else { throw .last("eventfd") }
        handle = Descriptor(owning: raw)
    }

    /// Poll it for reading.
    package var descriptor: Int32 { handle.raw }

    /// Makes the descriptor readable. It may be called from any thread and never blocks.
    package func raise() {
        _ = eventfd_write(handle.raw, 1)
    }

    /// Resets the counter. Returns whether it had been raised.
    @discardableResult
    package func take() -> Bool {
        var value: eventfd_t = 0
        return unsafe eventfd_read(handle.raw, &value) == 0
    }
}
