import CLinux
import Glibc

/// The signals that a loop handles.
package enum Signal: Sendable, CaseIterable {
    case terminate, interrupt, hangUp, user1, child, windowChange

    package var number: Int32 {
        switch self {
        case .terminate: SIGTERM
        case .interrupt: SIGINT
        case .hangUp: SIGHUP
        case .user1: SIGUSR1
        case .child: SIGCHLD
        case .windowChange: SIGWINCH
        }
    }

    /// Ignores the signal from now on. The corresponding C function is `signal`.
    package func ignore() { _ = signal(number, SIG_IGN) }

    /// Restores the signal's default action.
    package func restore() { _ = signal(number, SIG_DFL) }
}

/// Signals as a descriptor to poll and read, so that no handler ever runs.
///
/// Make it before the first thread starts: it blocks the signals in this thread and in threads that
/// this thread starts later. They stay blocked after it is freed. The corresponding C function is
/// `signalfd`.
package struct SignalDescriptor: ~Copyable {
    private let handle: Descriptor

    package init(_ signals: [Signal]) throws(SystemError) {
        var set = sigset_t()
        unsafe sigemptyset(&set)
        for signal in signals { unsafe sigaddset(&set, signal.number) }
        guard unsafe pthread_sigmask(SIG_BLOCK, &set, nil) == 0 else {
            throw .last("pthread_sigmask")
        }
        let flags = Int32(SFD_NONBLOCK) | Int32(SFD_CLOEXEC)
        let raw = unsafe signalfd(-1, &set, flags)
        guard raw >= 0 else { throw .last("signalfd") }
        handle = Descriptor(owning: raw)
    }

    /// Poll it for reading.
    package var descriptor: Int32 { handle.raw }

    /// The next signal that has arrived, or `nil`.
    package func next() -> Signal? {
        var info = signalfd_siginfo()
        let size = MemoryLayout<signalfd_siginfo>.size
        guard unsafe Glibc.read(handle.raw, &info, size) == size else { return nil }
        let number = Int32(truncatingIfNeeded: info.ssi_signo)
        return Signal.allCases.first { $0.number == number }
    }
}
