import CLinux
import Glibc

/// What a process that holds secrets does first.
package enum ProcessHardening {
    /// No core dump, no tracing by the same user, files for this user alone, no SIGPIPE.
    ///
    /// The corresponding C functions are `setrlimit`, `prctl`, `umask` and `signal`.
    package static func apply() throws(SystemError) {
        var none = rlimit(rlim_cur: 0, rlim_max: 0)
        guard unsafe setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &none) == 0 else {
            throw .last("setrlimit")
        }
        guard set_dumpable(0) == 0 else { throw .last("prctl") }
        umask(0o077)
        signal(SIGPIPE, SIG_IGN)
    }
}

/// This process, as others see it.
package enum ProcessIdentity {
    package static var processID: Int32 { getpid() }
    package static var effectiveUser: UInt32 { geteuid() }
}
