package import Sessions

/// Logs in a program that has no password: it shows a code, and a person allows it at the page.
///
/// Source: RFC 8628.
package protocol LoginRequestFrontend {
    /// Makes a request that lives for ten minutes. 155 if too many wait, in all or from this
    /// address.
    func requestLogin(_ order: LoginRequestOrder) async throws(AuthorityError) -> OpenLoginRequest
    /// The session of a request that a person has allowed; only the first such call gets it. The
    /// name of a refusal says what the program must do: see `Refusal.Name`.
    func login(_ attempt: LoginRequestUse) async throws(AuthorityError) -> LoggedIn

    /// The request that waits under this code. 101 if there is none; 155 for too many wrong codes
    /// of this user or from this address. `answerLoginRequest` has the same rule.
    func loginRequest(
        _ search: TypedCode, by caller: Caller
    ) async throws(AuthorityError) -> LoginRequestView
    /// Allows or denies a request. To allow needs a confirmation.
    func answerLoginRequest(
        _ search: TypedCode, allows: Bool, by caller: Caller
    ) async throws(AuthorityError)
}

/// A program that wants to log in.
package struct LoginRequestOrder: Sendable {
    /// The program's own name for itself. It names the session later.
    package let program: BoardName
    /// The program's address, which the page shows.
    package let origin: String

    package init(program: BoardName, origin: String) {
        self.program = program
        self.origin = origin
    }
}

/// What the program that asked gets.
package struct OpenLoginRequest: Sendable {
    package let deviceCode: DeviceCode
    package let userCode: UserCode
    /// The page at which a person types the code.
    package let page: String
    package let life: Duration
    /// How long the program waits before it asks again.
    package let interval: Duration

    /// The page with the code after the `#`, which a browser does not send.
    package var pageWithCode: String { "\(page)/\(userCode)" }
}

/// A program that asks whether its request was allowed.
package struct LoginRequestUse: Sendable {
    package let code: DeviceCode
    /// The peer's address, for the audit log.
    package let origin: String

    package init(_ code: DeviceCode, origin: String) {
        self.code = code
        self.origin = origin
    }
}

/// A request as the person sees it who decides.
package struct LoginRequestView: Equatable, Sendable {
    package let code: UserCode
    /// The program's own name for itself.
    package let program: String
    /// The program's address.
    package let origin: String
    /// Whether the person's browser has the same address.
    package let isFromHere: Bool
    package let createdAt: Timestamp
    package let endsAt: Timestamp

    package init(
        code: UserCode, program: String, origin: String, isFromHere: Bool, createdAt: Timestamp,
        endsAt: Timestamp
    ) {
        self.code = code
        self.program = program
        self.origin = origin
        self.isFromHere = isFromHere
        self.createdAt = createdAt
        self.endsAt = endsAt
    }
}
