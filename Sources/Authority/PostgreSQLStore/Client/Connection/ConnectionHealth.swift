import AuthorityStore
import CPostgreSQL

extension PostgresConnection {
    /// Whether the connection can be used as far as can be told without asking the server:
    /// looks whether it has hung up. For a connection that nothing is under way on.
    package var isAlive: Bool {
        isUsable && link.listen()
    }

    /// Gives the connection up: it is not usable from now on.
    package func abandon() { link.abandon() }

    /// Leaves the connection as a new one is: no transaction, nothing queued.
    package func settle() {
        if isUsable, isInTransaction || !unanswered.isEmpty { rollback() }
    }

    /// Queues a message to all who listen on `channel`; it goes out with the commit, once for
    /// all equal ones of a transaction. At most 7,999 bytes. Source: PostgreSQL, `NOTIFY`.
    package func notify(_ channel: String, _ payload: String) throws(PostgresError) {
        try send("SELECT pg_notify($1, $2)", [.text(channel), .text(payload)])
    }

    /// The payloads that have come for the channels this connection listens on.
    ///
    /// The corresponding C function is `PQnotifies`.
    func takeNotifications() -> [String] {
        var payloads: [String] = []
        while let notification = unsafe PQnotifies(link.raw) {
            if let extra = unsafe notification.pointee.extra {
                payloads.append(unsafe String(cString: extra))
            }
            unsafe PQfreemem(notification)
        }
        return payloads
    }
}

extension ServerLink {
    /// Takes in what the server says unasked: notifications, notices, and that it hangs up.
    /// False once it is gone; never blocks.
    func listen() -> Bool {
        while !isBroken, SocketWait.readiness(descriptor, .zero) != .neither {
            // The end of the stream is the second read, after the server's last words.
            if unsafe PQconsumeInput(raw) != 1 || PQstatus(raw) != CONNECTION_OK { abandon() }
        }
        return !isBroken
    }
}
