import LinuxIO
import Mosquitto
import Sessions
import Wire

/// Asks a broker whether it lets somebody in.
enum BusProbe {
    enum Answer: Equatable {
        case letIn
        /// It answered, and did not.
        case refused(String)
        /// Nothing answered as a broker does; the text names the layer.
        case unreachable(String)
    }

    private static let patience = Duration.seconds(5)

    /// Connects under a name of its own, says goodbye, and waits at most 5 seconds.
    static func knock(
        _ uri: BrokerURI, username: String?, password: SecretBytes?,
        tls: TLSOptions = TLSOptions()
    ) -> Answer {
        do throws(MQTTError) {
            return try connect(ConnectOptions(
                uri: uri, clientID: "postern-doctor-\(ProcessIdentity.processID)", keepAlive: 0,
                username: username, password: password, tls: tls))
        } catch {
            if case .brokerLogin = error { return .refused("\(error)") }
            return .unreachable("\(error)")
        }
    }

    private static func connect(_ options: ConnectOptions) throws(MQTTError) -> Answer {
        var connection = try Connection(options)
        try connection.connect()
        let end = SystemClock.monotonic + patience
        var poller = Poller()
        while SystemClock.monotonic < end, let descriptor = connection.descriptor {
            poller.clear()
            let interest = connection.interest
            poller.add(descriptor, read: interest.read, write: interest.write)
            _ = try? poller.wait(max(end - SystemClock.monotonic, .zero))
            try connection.read(atMost: 8)
            for event in connection.takeEvents() {
                if let failure = event.failure { throw failure }
                guard case .connected = event else { continue }
                try connection.disconnect()
                try? connection.write()
                return .letIn
            }
            if connection.hasQueuedWrites { try connection.write() }
        }
        return .unreachable("MQTT: no answer within 5 s")
    }
}
