import AgentCore
import Cryptography
import Sessions

/// What the client ids of the agent's two connections to the board's own broker begin with.
///
/// Mosquitto hands a session to whoever connects with its client id, whatever login that is. A
/// program on the board that knew these could end the agent's connections and take what waits
/// for it; the installation id, which all programs read, must not tell them. They are the same
/// after a restart, for the durable session has to be found again.
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
