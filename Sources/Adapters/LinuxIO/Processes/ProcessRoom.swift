import Glibc

/// What the system lets this process have, and what it has used.
package enum ProcessRoom {
    /// Lets the process open as many files as its hard limit allows; that number.
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

    /// The processor's time that all threads of this process have used.
    ///
    /// The corresponding C function is `clock_gettime` with `CLOCK_PROCESS_CPUTIME_ID`.
    package static var processorTime: Duration {
        var used = timespec()
        _ = unsafe clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used)
        return .seconds(Int64(used.tv_sec)) + .nanoseconds(Int64(used.tv_nsec))
    }

    /// How many processors this process may use, at least 1.
    ///
    /// The corresponding C function is `sysconf` with `_SC_NPROCESSORS_ONLN`.
    package static var processors: Int { max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) }
}
