/// The errors between the authority and its database, grouped by what the caller can do.
///
/// No case holds a password or a value of a statement.
package enum PostgresError: Error, Equatable, Sendable {
    /// The layers between the authority and the database that can fail separately.
    package enum Layer: String, Sendable {
        case nameLookup = "name lookup"
        case socket = "Unix socket"
        case tcp = "TCP"
        case tls = "TLS"
        case login = "database login"
        case database
    }

    /// The configuration is wrong. Nothing was tried.
    case address(String)
    /// There is no connection. Nothing was done. A later retry may help.
    case unreachable(Layer, String)
    /// There is no connection, and a retry will not help: the configuration here or on the server
    /// is wrong. Examples are a password, a role, a database, a certificate. Nothing was done.
    case turnedAway(Layer, String)
    /// The server refused a statement, and with it the transaction.
    case server(SQLState, String)
    /// The connection was lost during the work. Without `whileCommitting`, nothing of the
    /// transaction was kept. With it, only the database knows the outcome.
    case lost(String, whileCommitting: Bool)
    /// A value does not fit its parameter, or a column has an unknown type.
    case misfit(String)
    /// A result is larger than the connection's limits. The connection was closed.
    case tooLarge(String)
    /// Too many callers wait for a connection. Nothing was done.
    case overloaded
    /// The caller's task was cancelled while it waited. Nothing was done.
    case cancelled
    /// The pool was closed.
    case closed

    /// One line for a log: which layer, what happened, what to do.
    package var text: String {
        switch self {
        case .address(let text): "the database's address: \(text)"
        case .unreachable(let layer, let text), .turnedAway(let layer, let text):
            "the database cannot be reached (\(layer.rawValue)): \(text); \(Self.advice(layer))"
        case .server(let state, let text): "the database refused (SQLSTATE \(state.code)): \(text)"
        case .lost(let text, let whileCommitting):
            whileCommitting
                ? "the database connection was lost during a commit, which may be done: \(text)"
                : "the database connection was lost: \(text)"
        case .misfit(let text): "the database and this program do not match: \(text)"
        case .tooLarge(let text): "the database's answer is too large: \(text)"
        case .overloaded: "overloaded: too many requests wait for the database"
        case .cancelled: "the wait for the database was cancelled"
        case .closed: "the database's connections are closed"
        }
    }

    private static func advice(_ layer: Layer) -> String {
        switch layer {
        case .nameLookup: "check the host in `store`"
        case .socket, .tcp: "check that PostgreSQL runs and listens there"
        case .tls: "check sslrootcert and the name in the server's certificate"
        case .login: "check the user in `store`, its password and pg_hba.conf"
        case .database: "check the database in `store` and the server's log"
        }
    }
}
