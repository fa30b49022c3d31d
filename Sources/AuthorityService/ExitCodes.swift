import ArgumentParser
import AuthorityCore
import LinuxIO
import Sessions

/// How a program ends, as the house has it.
enum Exit {
    static let failed = ExitCode(1)
    static let usage = ExitCode(2)
    static let permission = ExitCode(77)
    static let configuration = ExitCode(78)

    /// Says what went wrong and picks the code.
    static func code(for error: any Error) -> ExitCode {
        switch error {
        case let error as ExitCode: error
        case let error as StateFolderError:
            switch error {
            case .initialised, .notInitialised: usage
            case .keyMissing, .served: failed
            }
        case let error as FileFailure:
            switch error {
            case .tooOpen, .foreignOwner, .notPermitted, .wrongKind: permission
            default: failed
            }
        case AuthorityError.refused: usage
        // Another start will not help, and must not be tried.
        case AuthorityError.failed(layer: "schema", _): configuration
        default: failed
        }
    }

    static func words(for error: any Error) -> String {
        switch error {
        case let error as AuthorityError: error.words
        default: "\(error)"
        }
    }
}
