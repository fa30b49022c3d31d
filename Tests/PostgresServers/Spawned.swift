import Dispatch
import Glibc

/// A child process that inherits no descriptor but the three that it is given.
///
/// Foundation's `Process` knows of a child's end by a socket that the child has inherited, and so
/// has a server that the child leaves behind: it would never hear of the end of `pg_ctl`.
struct Spawned {
    private let pid: pid_t
    /// `POSIX_SPAWN_SETSID`, a macro that Swift does not see. Source: glibc, spawn.h.
    private static let newSession: Int16 = 0x80

    /// - Parameters:
    ///   - input: a descriptor; nil is nothing.
    ///   - output: the path of a file for both outputs; nil is none.
    ///   - isLeader: whether it has a session of its own, which no signal to ours reaches.
    init(
        _ path: String, _ arguments: [String], input: Int32? = nil, output: String? = nil,
        isLeader: Bool = false
    ) throws {
        var actions = unsafe posix_spawn_file_actions_t()
        _ = unsafe posix_spawn_file_actions_init(&actions)
        defer { _ = unsafe posix_spawn_file_actions_destroy(&actions) }
        if let input { _ = unsafe posix_spawn_file_actions_adddup2(&actions, input, 0) }
        else { _ = unsafe posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0) }
        let place = output ?? "/dev/null"
        let mode = O_WRONLY | O_CREAT | O_APPEND
        _ = unsafe posix_spawn_file_actions_addopen(&actions, 1, place, mode, 0o600)
        _ = unsafe posix_spawn_file_actions_adddup2(&actions, 1, 2)
        // Also those that another thread opens meanwhile; glibc does not mind a closed one.
        for other in Int32(3)..<1024 {
            _ = unsafe posix_spawn_file_actions_addclose(&actions, other)
        }
        var attributes = posix_spawnattr_t()
        _ = unsafe posix_spawnattr_init(&attributes)
        defer { _ = unsafe posix_spawnattr_destroy(&attributes) }
        if isLeader { _ = unsafe posix_spawnattr_setflags(&attributes, Self.newSession) }
        // PostgreSQL's programs want to know where they are, which not every user may.
        let command = ["/usr/bin/env", "-C", "/", path] + arguments
        var words = unsafe Self.copies(command)
        var environment = unsafe Self.copies(
            ["PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C", "TZ=UTC"])
        defer { unsafe (words + environment).forEach { unsafe free($0) } }
        var child = pid_t()
        let code = unsafe posix_spawn(
            &child, command[0], &actions, &attributes, &words, &environment)
        guard code == 0 else { throw ServerFailure("\(path) cannot be started: error \(code)") }
        pid = child
    }

    /// Waits for its end; 0 is a good one.
    func wait() -> Int32 {
        var status: Int32 = 0
        while unsafe waitpid(pid, &status, 0) < 0 {
            if errno != EINTR { return -1 }
        }
        return status
    }

    /// The same without a thread of Swift's concurrency that sleeps: there are as few as there are
    /// processors, and other tests wait for them.
    func end() async -> Int32 {
        await withCheckedContinuation { waiting in
            DispatchQueue.global().async { waiting.resume(returning: wait()) }
        }
    }

    @unsafe
    private static func copies(_ words: [String]) -> [UnsafeMutablePointer<CChar>?] {
        unsafe words.map { unsafe strdup($0) } + [nil]
    }
}
