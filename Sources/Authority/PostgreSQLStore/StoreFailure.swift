package import AuthorityCore
import AuthorityStore

extension PostgresError {
    /// The same for those who know of no database.
    package var authorityError: AuthorityError {
        .failed(layer: isAway ? StoreOpening.away : "store", text: text)
    }

    /// The same while a store is opened, when it matters whether to try again.
    var openingError: AuthorityError {
        if isConfigured { return .failed(layer: StoreOpening.settings, text: text) }
        return isPassing ? .failed(layer: StoreOpening.away, text: text) : authorityError
    }

    /// Whether somebody has to change something before another try can succeed.
    private var isConfigured: Bool {
        switch self {
        case .address, .turnedAway: true
        case .server(let state, _): state == .insufficientPrivilege
        default: false
        }
    }

    /// Whether there is no database that could do it now.
    private var isAway: Bool {
        switch self {
        case .unreachable, .lost: true
        case .server(let state, _): state.endsConnection || state == .readOnlyTransaction
        case .address, .turnedAway, .misfit, .tooLarge, .overloaded, .cancelled, .closed: false
        }
    }

    /// Whether the same may succeed later by itself.
    private var isPassing: Bool {
        switch self {
        case .overloaded: true
        case .server(let state, _):
            isAway || state.isWorthAnotherTry || state == .lockNotAvailable
                || state == .queryCanceled
        default: isAway
        }
    }
}
