import CLinux
import Glibc

/// Hardens a process that holds secrets. Call it first.
package enum ProcessHardening {
    /// Disables core dumps, tracing by the same user and SIGPIPE. New files are for this user only.
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

/// The ids of this process.
package enum ProcessIdentity {
    package static var processID: Int32 { getpid() }
    package static var effectiveUser: UInt32 { geteuid() }
}
