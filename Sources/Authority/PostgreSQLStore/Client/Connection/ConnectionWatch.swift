import LinuxIO

extension PostgresError {
    /// This machine has no room for a thread or a descriptor.
    init(_ error: SystemError) {
        self = .unreachable(.database, "\(error)")
    }
}

/// Sleeps until a connection has something to say or somebody rings.
struct ConnectionWatch {
    private let bell: EventDescriptor

    init(_ bell: EventDescriptor) {
        self.bell = bell
    }

    /// Without a connection only the bell and `timeout` end the wait. The bell is quiet after it.
    func wait(for connection: PostgresConnection?, _ timeout: Duration? = nil) {
        var poller = Poller()
        poller.add(bell.descriptor, read: true, write: false)
        if let connection { poller.add(connection.link.descriptor, read: true, write: false) }
        // A poll that fails is a wait that ends early.
        _ = try? poller.wait(timeout)
        bell.take()
    }
}
