import AuthorityCore
import Synchronization

/// The consumers that are connected to an embedded broker, as the broker's log says. No command of
/// mosquitto 2.0.11 tells it.
///
/// Only a client with an account's password gets a line "New client connected" with its client id.
/// A client without one may choose any id, and its line ends with "not authorised".
/// Source: mosquitto 2.0.11, `src/handle_connect.c` and `src/loop.c`.
package final class ConnectedConsumers: Sendable {
    private let clients = Mutex<Set<String>>([])

    package init() {}

    package func contains(_ clientID: String) -> Bool {
        clients.withLock { $0.contains(clientID) }
    }

    /// A new broker has no connections.
    func forget() { clients.withLock { $0 = [] } }

    /// Takes one line of the log, with or without its time.
    package func note(_ line: some StringProtocol) {
        let text = line.drop { $0.isNumber }.trimmingPrefix(": ")
        if text.hasPrefix("New client connected from "),
            let id = text.split(separator: " ").dropFirst(6).first, text.contains(" as \(id) (p") {
            guard Self.isConsumer(id) else { return }
            clients.withLock { _ = $0.insert(String(id)) }
        } else if text.hasPrefix("Client "), !text.hasSuffix(", not authorised.") {
            remove(text.dropFirst("Client ".count))
        } else if text.hasPrefix("Bad socket read/write on client ") {
            remove(text.dropFirst("Bad socket read/write on client ".count))
        }
    }

    /// Removes the client whose id is the first word.
    private func remove(_ text: some StringProtocol) {
        let id = text.prefix { $0 != " " && $0 != ":" }
        guard Self.isConsumer(id) else { return }
        clients.withLock { _ = $0.remove(String(id)) }
    }

    private static func isConsumer(_ clientID: some StringProtocol) -> Bool {
        let prefix = BrokerAccount.clientID(of: "")
        guard clientID.hasPrefix(prefix),
            case .consumer? = BrokerReader(username: String(clientID.dropFirst(prefix.count)))
        else { return false }
        return true
    }
}
