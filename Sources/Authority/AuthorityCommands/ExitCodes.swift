import ArgumentParser
import AuthorityCore
import AuthorityService
import AuthorityStore
import LinuxIO
import Sessions

/// The exit codes of the program.
enum Exit {
    static let failed = ExitCode(1)
    static let usage = ExitCode(2)
    static let offline = ExitCode(5)
    static let permission = ExitCode(77)
    static let configuration = ExitCode(78)

    /// The exit code for an error.
    static func code(for error: any Error) -> ExitCode {
        switch error {
        case let error as ExitCode: error
        case let error as StateFolderError:
            switch error {
            case .initialised, .notInitialised, .notMoved, .occupied: usage
            case .keyUnkept, .served, .servedFrom, .busy: failed
            case .keyMissing, .otherKey, .badStore, .otherSettings, .noWayIn:
                configuration
            }
        case let error as FileFailure:
            switch error {
            case .tooOpen, .foreignOwner, .notPermitted, .wrongKind: permission
            default: failed
            }
        case AuthorityError.refused: usage
        case BackupError.usage, BackupError.exists: usage
        // A restart does not help, so the service manager must not try one.
        case AuthorityError.failed(layer: "schema", _),
            AuthorityError.failed(layer: StoreOpening.settings, _): configuration
        case AuthorityError.failed(layer: StoreOpening.away, _): offline
        default: failed
        }
    }

    static func words(for error: any Error) -> String {
        switch error {
        case AuthorityError.refused(let refusal): refusal.text
        case let error as AuthorityError: error.words
        default: "\(error)"
        }
    }
}
