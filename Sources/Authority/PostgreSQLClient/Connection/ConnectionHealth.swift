import CPostgreSQL

extension PostgresConnection {
    /// Whether the connection can be used, as far as this side knows without a question to the
    /// server. It checks whether the server has closed the connection. Call it only when no
    /// statement is under way.
    package var isAlive: Bool {
        isUsable && link.listen()
    }

    /// Gives up the connection: it cannot be used from now on.
    package func abandon() { link.abandon() }

    /// Resets the connection to the state of a new one: no transaction, nothing queued.
    package func settle() {
        if isUsable, isInTransaction || !unanswered.isEmpty { rollback() }
    }

    /// Queues a message to all that listen on `channel`. It is sent at the commit; equal messages
    /// of one transaction are sent once. At most 7,999 bytes. Source: PostgreSQL, `NOTIFY`.
    package func notify(_ channel: String, _ payload: String) throws(PostgresError) {
        try send("SELECT pg_notify($1, $2)", [.text(channel), .text(payload)])
    }

    /// The payloads that have arrived for the channels that this connection listens on.
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
    /// Reads what the server sends without a request: notifications, notices, and the end of the
    /// connection. False once the connection is gone. Never blocks.
    func listen() -> Bool {
        while !isBroken, SocketWait.readiness(descriptor, .zero) != .neither {
            // The end of the stream comes at the second read, after the server's last message.
            if unsafe PQconsumeInput(raw) != 1 || PQstatus(raw) != CONNECTION_OK { abandon() }
        }
        return !isBroken
    }
}
