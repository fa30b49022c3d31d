package import Sessions
import Wire

/// Why a command failed, grouped by what the user can do.
package enum CommandFailure: Error, Equatable, Sendable {
    /// The command line is wrong, or there is nothing to do.
    case usage(String)
    /// It was done, but not as well as it should be.
    case degraded(String)
    /// There is no session here, or it has ended. Log in.
    case notLoggedIn(String)
    /// Nobody answers. The layer is `name lookup`, `TCP`, `TLS`, `MQTT` …
    case offline(layer: String, text: String)
    /// The authority understood the request and refused it.
    case refused(Refusal)
    /// Something failed on the way or at the other end.
    case failed(layer: String, text: String)
    /// A configured file or address is wrong, or a file's permissions are too open.
    case configuration(String)
    /// The user pressed ^C.
    case interrupted

    package var exitStatus: ExitStatus {
        switch self {
        case .usage: .usage
        case .degraded: .degraded
        case .notLoggedIn: .notLoggedIn
        case .offline: .offline
        case .failed: .failed
        case .configuration: .configuration
        case .interrupted: .interrupted
        case .refused(let refusal):
            switch ErrorCode(rawValue: refusal.code) {
            case .invalidSession, .sessionMissing: .notLoggedIn
            case .forbidden: .permission
            default: .failed
            }
        }
    }

    /// One sentence; it names the layer and holds no secret.
    package var sentence: String {
        switch self {
        case .usage(let text): text
        case .degraded(let text): "degraded: \(text)"
        case .notLoggedIn(let text): "session: \(text); log in with `postern login`"
        case .offline(let layer, let text), .failed(let layer, let text): "\(layer): \(text)"
        case .configuration(let text): "configuration: \(text)"
        case .interrupted: "interrupted"
        case .refused(let refusal): Self.sentence(for: refusal)
        }
    }

    private static func sentence(for refusal: Refusal) -> String {
        let text = Printable.line(refusal.text)
        return switch ErrorCode(rawValue: refusal.code) {
        case .invalidSession, .sessionMissing:
            "session: \(text) (\(refusal.code)); log in with `postern login`"
        case .forbidden: "policy: \(text) (119)"
        default: "authority: \(text) (\(refusal.code))"
        }
    }
}

/// The exit status of the program. All programs use the same numbers.
package enum ExitStatus: Int32, Sendable {
    case ok = 0
    case failed = 1
    /// Wrong usage, or nothing to do.
    case usage = 2
    case degraded = 3
    /// Not logged in, or the session has ended.
    case notLoggedIn = 4
    /// No connection, or no answer in time.
    case offline = 5
    case permission = 77
    case configuration = 78
    /// ^C, by the number that a shell gives it.
    case interrupted = 130
}
