import AuthorityCore
import Sessions

/// The stub has no login requests; `Tests/Interop/test_login_browser.py` has some.
extension StubFrontend {
    func requestLogin(
        _ order: LoginRequestOrder
    ) async throws(AuthorityError) -> OpenLoginRequest {
        try note("request login of \(order.program) from \(order.origin)")
        throw .sessionOver
    }

    func login(_ attempt: LoginRequestUse) async throws(AuthorityError) -> LoggedIn {
        try note("use login request from \(attempt.origin)")
        throw .sessionOver
    }

    func loginRequest(
        _ search: TypedCode, by caller: Caller
    ) async throws(AuthorityError) -> LoginRequestView {
        try note("login request \(search.code)")
        throw .sessionOver
    }

    func answerLoginRequest(
        _ search: TypedCode, allows: Bool, by caller: Caller
    ) async throws(AuthorityError) {
        try note("\(allows ? "allow" : "deny") login request \(search.code)")
    }
}
