import Glibc

/// The system's limits for this process, and its use of the processor.
package enum ProcessLimits {
    /// Raises the limit of open files to the hard limit. Returns that number.
    ///
    /// The corresponding C functions are `getrlimit` and `setrlimit` with `RLIMIT_NOFILE`.
    package static func raiseDescriptorLimit() throws(SystemError) -> Int {
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        var limit = rlimit()
        guard unsafe getrlimit(resource, &limit) == 0 else { throw .last("getrlimit") }
        if limit.rlim_cur < limit.rlim_max {
            limit.rlim_cur = limit.rlim_max
            guard unsafe setrlimit(resource, &limit) == 0 else { throw .last("setrlimit") }
        }
        return Int(clamping: limit.rlim_cur)
    }

    /// The processor time that all threads of this process have used.
    ///
    /// The corresponding C function is `clock_gettime` with `CLOCK_PROCESS_CPUTIME_ID`.
    package static var processorTime: Duration {
        var used = timespec()
        _ = unsafe clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used)
        return .seconds(Int64(used.tv_sec)) + .nanoseconds(Int64(used.tv_nsec))
    }

    /// The number of processors that are online, at least 1.
    ///
    /// The corresponding C function is `sysconf` with `_SC_NPROCESSORS_ONLN`.
    package static var processors: Int { max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) }
}
