import AgentCore
import Cryptography
import Sessions

/// The secret beginning of the agent's two client ids at the local broker.
///
/// Mosquitto gives a session to any client that connects with its client id, whatever its login
/// is. A program that knew these ids could end the agent's connections and take its messages. So
/// they do not derive from the installation id alone, which all programs can read. They are the
/// same after a restart, so that the durable session is found again.
struct BusClientName: Sendable {
    private static let info = "postern/v1 bus client"

    private let secret: SecretBytes

    /// HKDF-SHA256 of the device's private key; salt = the installation id.
    init(of board: BoardIdentity) throws(CryptographyError) {
        secret = try HKDFSHA256.derive(
            from: board.deviceSecret, salt: Array(board.installation.description.utf8),
            info: Array(Self.info.utf8), count: 16)
    }

    /// The client id of one connection; for the broker alone, never for a log.
    func reveal(_ connection: String) -> String {
        "postern-\(connection)-\(Base64URL.encode(secret.reveal()))"
    }
}
