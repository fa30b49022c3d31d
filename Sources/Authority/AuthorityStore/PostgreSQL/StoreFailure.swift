package import AuthorityCore
import PostgreSQLClient

extension PostgresError {
    /// The error for callers that do not know the database.
    package var authorityError: AuthorityError {
        .failed(
            layer: isDiskFull ? AuthorityError.diskFull : isAway ? StoreOpening.away : "store",
            text: text)
    }

    private var isDiskFull: Bool {
        if case .server(.diskFull, _) = self { true } else { false }
    }

    /// The error while a store is opened. Its layer says whether a retry can help.
    var openingError: AuthorityError {
        if isConfigured { return .failed(layer: StoreOpening.settings, text: text) }
        return isPassing ? .failed(layer: StoreOpening.away, text: text) : authorityError
    }

    /// Whether the operator must change something before a retry can succeed.
    private var isConfigured: Bool {
        switch self {
        case .address, .turnedAway: true
        case .server(let state, _): state == .insufficientPrivilege
        default: false
        }
    }

    /// Whether no database can do the work now.
    private var isAway: Bool {
        switch self {
        case .unreachable, .lost: true
        case .server(let state, _): state.endsConnection || state == .readOnlyTransaction
        case .address, .turnedAway, .misfit, .tooLarge, .overloaded, .cancelled, .closed: false
        }
    }

    /// Whether a later retry may succeed without a change.
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
