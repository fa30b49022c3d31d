import LinuxIO
import Wire

/// The broker that has accepted this board with MQTT 5, kept in a file through restarts.
///
/// An attacker who cuts connections can make a broker seem to reject MQTT 5. A known broker is not
/// tried with 3.1.1 for that reason: the board's data would lack `sid` and `seq`.
struct KnownBroker {
    private static let limit = 1024

    private let file: String
    private var uri: String?

    init(_ file: String) {
        self.file = file
        // If the file cannot be read, the broker counts as new.
        uri = (try? PrivateFile.read(file, limit: Self.limit)).flatMap {
            String(validating: $0, as: UTF8.self)
        }
    }

    func isKnown(_ broker: BrokerURI) -> Bool { uri == "\(broker)" }

    /// Remembers the broker. If the file cannot be written, the connection stays, and the agent
    /// remembers until it ends.
    mutating func note(_ broker: BrokerURI) {
        guard !isKnown(broker) else { return }
        uri = "\(broker)"
        try? PrivateFile.write(file, Array("\(broker)".utf8))
    }
}
