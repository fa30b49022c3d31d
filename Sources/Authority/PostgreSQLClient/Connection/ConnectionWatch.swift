import LinuxIO

extension PostgresError {
    /// The error when this machine has no more threads or descriptors.
    init(_ error: SystemError) {
        self = .unreachable(.database, "\(error)")
    }
}

/// Sleeps until a connection can be read or the bell is raised.
struct ConnectionWatch {
    private let bell: EventDescriptor

    init(_ bell: EventDescriptor) {
        self.bell = bell
    }

    /// Without a connection, only the bell and `timeout` end the wait. The bell is reset after the
    /// wait.
    func wait(for connection: PostgresConnection?, _ timeout: Duration? = nil) {
        var poller = Poller()
        poller.add(bell.descriptor, read: true, write: false)
        if let connection { poller.add(connection.link.descriptor, read: true, write: false) }
        // If the poll fails, the wait only ends early.
        _ = try? poller.wait(timeout)
        bell.take()
    }
}
