import Glibc

/// A shell in a session of its own that waits until the tests' process lets go of a pipe, by
/// whatever end, and then stops the server and removes its folder.
final class ServerKeeper: Sendable {
    private let shell: Spawned
    private let writeEnd: Int32

    /// It is started before the server is, so that nothing is ever without it.
    private static let script = """
        cat > /dev/null
        pid=$(head -n 1 "$1/data/postmaster.pid" 2> /dev/null)
        case "$pid" in *[!0-9]* | "") ;; *)
            kill -QUIT "$pid" 2> /dev/null
            for _ in $(seq 100); do kill -0 "$pid" 2> /dev/null || break; sleep 0.1; done
            kill -KILL "$pid" 2> /dev/null
        esac
        rm -rf "$1"
        """

    init(folder: String) throws {
        var ends: [Int32] = [-1, -1]
        guard unsafe pipe(&ends) == 0 else { throw ServerFailure("no pipe") }
        // Inherited by no other child: it would keep the server for as long as that lives.
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        writeEnd = ends[1]
        defer { close(ends[0]) }
        shell = try Spawned(
            "/bin/sh", ["-c", Self.script, "sh", folder], input: ends[0], isLeader: true)
    }

    /// Stops the server and waits until nothing is left of it.
    deinit {
        close(writeEnd)
        _ = shell.wait()
    }
}
