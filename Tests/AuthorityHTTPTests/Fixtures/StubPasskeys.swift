import AuthorityCore
import Sessions
import WebAuthn

/// The stub has no passkeys and notes what is asked; `Tests/Interop/test_passkeys.py` has some.
extension StubFrontend {
    nonisolated var loginWays: LoginWays {
        LoginWays(takesPasswords: true, site: RelyingParty(publicURL: info.publicURL))
    }

    func passkeyOptions(
        _ purpose: PasskeyPurpose, by caller: Caller?
    ) async throws(AuthorityError) -> PasskeyOptions {
        try note("options \(purpose.rawValue)")
        throw .sessionOver
    }

    func login(_ attempt: PasskeyLogin) async throws(AuthorityError) -> LoggedIn {
        try note("login with a passkey from \(attempt.origin)")
        throw .sessionOver
    }

    func login(_ attempt: RecoveryLogin) async throws(AuthorityError) -> LoggedIn {
        try note("login of \(attempt.username) with a code from \(attempt.origin)")
        throw .sessionOver
    }

    func confirm(_ order: ConfirmationOrder, by caller: Caller) async throws(AuthorityError) {
        try note("confirm from \(order.origin)")
    }

    func passkeys(by caller: Caller) async throws(AuthorityError) -> OwnLoginWays {
        OwnLoginWays(passkeys: [], hasPassword: true, recoveryCodeAt: nil)
    }

    func addPasskey(
        _ order: PasskeyOrder, by caller: Caller
    ) async throws(AuthorityError) -> PasskeyRecord {
        try note("add passkey \(order.name)")
        throw .sessionOver
    }

    func renamePasskey(
        _ id: ObjectID, to name: String, by caller: Caller
    ) async throws(AuthorityError) -> PasskeyRecord {
        try note("rename passkey \(id) to \(name)")
        throw .sessionOver
    }

    func removePasskey(_ id: ObjectID, by caller: Caller) async throws(AuthorityError) {
        try note("remove passkey \(id)")
    }

    func makeRecoveryCode(
        of username: String, by caller: Caller
    ) async throws(AuthorityError) -> RecoveryCode {
        try note("recovery code of \(username)")
        throw .sessionOver
    }
}
