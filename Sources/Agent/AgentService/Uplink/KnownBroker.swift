import LinuxIO
import Wire

/// The broker that has let this board in with MQTT 5, kept in a file through restarts.
///
/// Who cuts the network makes each broker seem to hang up on MQTT 5. One that is known is not
/// asked with 3.1.1 for that: the board's data would go up without `sid` and `seq`.
struct KnownBroker {
    private static let limit = 1024

    private let file: String
    private var uri: String?

    init(_ file: String) {
        self.file = file
        // Without it the board begins as with a new broker.
        uri = (try? PrivateFile.read(file, limit: Self.limit)).flatMap {
            String(validating: $0, as: UTF8.self)
        }
    }

    func isKnown(_ broker: BrokerURI) -> Bool { uri == "\(broker)" }

    /// A file that cannot be written is no reason to be without a connection: until its next
    /// start the agent knows all the same.
    mutating func note(_ broker: BrokerURI) {
        guard !isKnown(broker) else { return }
        uri = "\(broker)"
        try? PrivateFile.write(file, Array("\(broker)".utf8))
    }
}
