package import Gate
package import Sessions

/// The requests that people may send: one case for each kind of call. A call that may ask for all
/// users' objects has two cases.
enum CallKind: CaseIterable, Sendable {
    case logout, upgrade
    case claim, claimState, openClaims, everyOpenClaim, endClaim, forgetRevocation
    case ownBoards, everyBoard, board, rename, renew, release, replace, explain, deleteData
    case ownSessions, everySession, session, revoke, makeSession, update, extend, changeScope
    case revokeAll
    case users, addUser, changeProfile, changeUser, audit
    case brokerLogin, consumers, makeConsumer, removeConsumer
    case installation, everyInstallation
    case readRoles, makeRole, writeRole
    case identities, link, unlink
    case confirm, passkeys, beginPasskey, addPasskey, renamePasskey, removePasskey
    case makeRecoveryCode
    case readLoginRequest, allowLogin, denyLogin
    case readClaimCode, nameClaimCode
    case ownAlerts, everyAlert, testAlerts
    case ownPush, push
    case sendCommand, commands, configuration
    case invite, shares, endShare, readInvitation, acceptInvitation
    case prepareClaims, preparedClaims, acceptPreparedClaim, endPreparedClaim

    /// Whether it is only for people who may claim boards.
    var isClaim: Bool {
        switch self {
        case .claim, .renew, .readClaimCode, .nameClaimCode, .prepareClaims, .preparedClaims,
            .acceptPreparedClaim: true
        default: false
        }
    }

    /// The protected class that the request writes. Nil if it writes none.
    var writtenClass: ClassName? {
        switch self {
        case .logout, .upgrade, .claim, .endClaim, .forgetRevocation, .renew, .release, .replace,
            .revoke, .makeSession, .update, .extend, .changeScope, .revokeAll, .allowLogin,
            .nameClaimCode, .prepareClaims, .acceptPreparedClaim, .endPreparedClaim: .session
        case .addUser, .changeProfile, .changeUser, .link, .unlink, .beginPasskey, .addPasskey,
            .renamePasskey, .removePasskey, .makeRecoveryCode: .user
        case .makeRole, .writeRole: .role
        case .installation, .everyInstallation, .readRoles: nil
        case .claimState, .openClaims, .everyOpenClaim, .ownBoards, .everyBoard, .board, .rename,
            .explain, .deleteData, .ownSessions, .everySession, .session, .users, .audit,
            .brokerLogin, .consumers, .makeConsumer, .removeConsumer, .identities, .ownAlerts,
            .everyAlert, .testAlerts, .ownPush, .push, .confirm, .passkeys, .readLoginRequest,
            .denyLogin, .sendCommand, .commands, .configuration, .invite, .shares, .endShare,
            .readInvitation, .acceptInvitation, .readClaimCode, .preparedClaims: nil
        }
    }
}

/// Decides which requests a caller may send. Each query also checks who owns the object.
///
/// A restricted session may read itself and the other restricted sessions of its user, log out, and
/// set its own first installation id. Like any program it may save the `_Installation` it runs on,
/// and read the roles that it may see. Everything else is refused or has an empty result.
///
/// The master key may do the same as administrators, except requests that need a session.
///
/// Source: the wire contract, Error codes (119); Parse REST guide, Restricted sessions.
struct CallerRights: Equatable, Sendable {
    let isRestricted: Bool
    let isAdministrator: Bool
    let mayClaim: Bool
    var isMaster = false

    enum Verdict: Equatable, Sendable {
        case allowed
        /// Allowed, but the result is empty: an empty list, or 101.
        case nothing
        case refused(Refusal)
    }

    func judge(_ deed: CallKind) -> Verdict {
        if isMaster { return Self.isForMaster(deed) ? .allowed : .refused(Self.noMaster) }
        if deed == .everyInstallation { return .refused(Self.masterOnly) }
        if Self.isForAdministrators(deed) {
            return isAdministrator && !isRestricted
                ? .allowed
                : .refused(Refusal(.forbidden, "only an administrator may do this"))
        }
        if isRestricted { return judgeRestricted(deed) }
        if deed.isClaim, !mayClaim, !isAdministrator {
            return .refused(
                Refusal(
                    .forbidden, "an administrator has not allowed you to claim boards",
                    name: .mayNotClaim))
        }
        return .allowed
    }

    private func judgeRestricted(_ deed: CallKind) -> Verdict {
        switch deed {
        // The two writes of its own `_Session` that the contract allows; then reads.
        case .logout, .update: return .allowed
        case .ownSessions, .session, .installation, .readRoles: return .allowed
        case .ownBoards, .board, .claimState, .openClaims, .identities, .explain, .ownAlerts,
            .commands, .configuration:
            return .nothing
        default:
            let closure = deed.writtenClass.flatMap { Gate.closure(of: $0) }
            return .refused(closure.map { Refusal($0) } ?? Self.restricted)
        }
    }

    /// Whether the caller may update this session in this way. A restricted session may only set
    /// its own first installation id.
    func mayUpdate(_ id: ObjectID, withFields: Bool, from own: ObjectID) -> Bool {
        !isRestricted || (id == own && !withFields)
    }

    /// Whether the caller may see a session: as its user or as an administrator. A restricted
    /// caller sees only restricted sessions of its user.
    func maySee(_ session: Session, of user: UserID) -> Bool {
        guard isRestricted else { return session.user == user || isAdministrator }
        return session.user == user && session.restricted
    }

    private static func isForAdministrators(_ deed: CallKind) -> Bool {
        switch deed {
        case .everyBoard, .everyOpenClaim, .everySession, .users, .addUser, .changeUser, .audit,
            .makeRole, .everyAlert, .testAlerts: true
        default: false
        }
    }

    private static func isForMaster(_ deed: CallKind) -> Bool {
        switch deed {
        case .logout, .upgrade, .claim, .claimState, .openClaims, .ownBoards, .deleteData,
            .ownSessions, .makeSession, .brokerLogin, .consumers, .makeConsumer, .removeConsumer,
            .identities, .link, .unlink, .ownAlerts, .confirm, .passkeys, .beginPasskey,
            .addPasskey, .renamePasskey, .removePasskey, .makeRecoveryCode, .readLoginRequest,
            .allowLogin, .denyLogin, .ownPush, .push, .sendCommand, .commands, .invite, .shares,
            .endShare, .readInvitation, .acceptInvitation, .readClaimCode, .nameClaimCode,
            .prepareClaims, .preparedClaims, .acceptPreparedClaim, .endPreparedClaim: false
        case .everyOpenClaim, .endClaim, .forgetRevocation, .everyBoard, .board, .rename,
            .explain, .renew, .release, .replace, .everySession, .session, .revoke, .update,
            .extend, .changeScope, .revokeAll, .users, .addUser, .changeProfile, .changeUser,
            .audit, .installation, .everyInstallation, .readRoles, .makeRole, .writeRole,
            .everyAlert, .testAlerts, .configuration: true
        }
    }

    static let noMaster = Refusal(.forbidden, "this request needs a session, not the master key")
    /// The text of Parse server.
    static let masterOnly = Refusal(
        .forbidden,
        "Clients aren't allowed to perform the find operation on the installation collection.")
    static let restricted = Refusal(.forbidden, "a restricted session may not do this")
}

extension Caller {
    /// The gate's refusal of a write of this class by this caller. Nil: none.
    package func refusal(writing className: ClassName) -> Refusal? {
        session.restricted ? Gate.closure(of: className).map { Refusal($0) } : nil
    }
}

extension Refusal {
    fileprivate init(_ rejection: Rejection) {
        self.init(rejection.code, "\(rejection.rule): \(rejection.reason)")
    }
}
