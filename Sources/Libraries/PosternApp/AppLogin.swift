import Gate
import LinuxIO
import MQTT
import Sessions
import Wire

/// The bus of the board, and the login of an app there.
struct AppLogin: Sendable {
    /// The board's broker, as the package `postern-agent` sets it up.
    private static let socket = "/run/postern-bus/bus.sock"
    /// Where `postern-agent-app add NAME --user USER` puts a password.
    private static let logins = "/etc/postern/apps"

    let app: AppName
    private let bus: BrokerURI
    private let username: String
    /// Nil: it is read from a file before each attempt.
    private let password: SecretBytes?

    /// Finds what is not given. Throws `invalid` for a name or an address that is malformed, and
    /// for a login that this user may not read.
    init(app: String, bus: String?, username: String?, password: String?) throws(AppError) {
        guard let name = AppName(app) else {
            throw .invalid("a name has 1 to 32 of a-z, 0-9 and -, and does not begin with -")
        }
        self.app = name
        self.bus = try Self.address(bus)
        self.username = username ?? app
        self.password = password.map { SecretBytes($0.utf8) }
        _ = try currentPassword()
    }

    /// The options of one attempt to connect. The password is read again: it may have been changed.
    func options() throws(AppError) -> ConnectOptions {
        ConnectOptions(
            uri: bus, clientID: "\(app)-\(MessageID.made)", username: username,
            password: try currentPassword())
    }

    private static func address(_ given: String?) throws(AppError) -> BrokerURI {
        // Only members of the group postern-apps may write to the socket.
        let text = given ?? Environment.value("POSTERN_BUS")
            ?? (SocketProbe.mayConnect(to: socket) ? "unix:\(socket)" : "mqtt://127.0.0.1:1883")
        let address: BrokerURI
        do throws(BrokerURI.ParseError) {
            address = try BrokerURI(text)
        } catch {
            throw .invalid("the bus: \(error)")
        }
        guard address.scheme != .mqtts else {
            throw .invalid("the bus is mqtt://host:port or unix:/path")
        }
        return address
    }

    /// Nil if there is none: a bus may let an app in without one.
    private func currentPassword() throws(AppError) -> SecretBytes? {
        if let password { return password }
        for folder in [Environment.value("CREDENTIALS_DIRECTORY"), Self.logins] {
            guard let folder else { continue }
            do throws(FileFailure) {
                let bytes = try PrivateFile.read(
                    "\(folder)/\(app).password", limit: 1024, strictestMode: 0o640,
                    followsLinks: true)
                return SecretBytes(bytes.prefix { !"\r\n".utf8.contains($0) })
            } catch {
                if case .missing = error { continue }
                throw .invalid("\(error)")
            }
        }
        return nil
    }
}

extension MessageID {
    /// A new one.
    static var made: MessageID {
        MessageID(random: (0..<16).map { _ in UInt8.random(in: 0...255) })
    }
}
