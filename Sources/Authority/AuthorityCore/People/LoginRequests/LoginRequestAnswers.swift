import Sessions

/// The person's side of a login request: they find it by its code, and decide.
extension Authority {
    package func loginRequest(
        _ search: TypedCode, by caller: Caller
    ) async throws(AuthorityError) -> LoginRequestView {
        let found = try await act(.readLoginRequest, by: caller) { act throws(AuthorityError) in
            try find(search, act)
        }
        guard let found else { throw .noLoginRequest }
        return LoginRequestView(
            code: search.code, program: found.program, origin: found.origin,
            isFromHere: CountedOrigin(found.origin) == CountedOrigin(search.origin),
            createdAt: found.createdAt, endsAt: found.endsAt)
    }

    package func answerLoginRequest(
        _ search: TypedCode, allows: Bool, by caller: Caller
    ) async throws(AuthorityError) {
        let deed: CallKind = allows ? .allowLogin : .denyLogin
        let found = try await act(deed, by: caller) { act throws(AuthorityError) in
            guard var request = try find(search, act) else { return false }
            request.state = allows ? .allowed : .denied
            request.user = act.user.objectID
            request.session = act.session.id
            try act.transaction.update(request)
            try act.audit(
                allows ? "login.allowed" : "login.denied", of: act.session,
                "\(request.program) from \(request.origin)")
            return true
        }
        guard found else { throw .noLoginRequest }
    }

    /// The request that waits under a code. Nil if there is none, which counts as a wrong code.
    ///
    /// Count and search are one transaction, so that parallel tries count, too. A right code clears
    /// no wrong ones: otherwise a request of one's own would give new tries.
    private func find(
        _ search: TypedCode, _ act: Act
    ) throws(AuthorityError) -> LoginRequestRecord? {
        try act.requireCodeTries(from: search.origin)
        let found = try act.transaction.loginRequest(userHash: try hash(of: search.code))
        if let found, found.state == .waiting, found.endsAt > act.now { return found }
        try act.countWrongCode(from: search.origin)
        try act.audit("login.code-wrong", of: act.session, search.origin)
        return nil
    }
}

/// Counts wrong codes of programs and of boards together, per user and per address.
extension Act {
    /// Throws 155 if there were too many.
    func requireCodeTries(from origin: String) throws(AuthorityError) {
        for (key, limit) in codeKeys(origin) {
            guard let wait = try authority.wait(key, atMost: limit, transaction, at: now) else {
                continue
            }
            throw .refused(.tooMany("wrong codes", wait: wait))
        }
    }

    func countWrongCode(from origin: String) throws(AuthorityError) {
        for (key, _) in codeKeys(origin) { try transaction.countFailure(key, at: now) }
    }

    private func codeKeys(_ origin: String) -> [(String, Int)] {
        [
            ("user code \(user.objectID)", LoginRequestLimit.ofUser),
            ("user code from \(CountedOrigin(origin))", LoginRequestLimit.ofAddress),
        ]
    }
}

extension AuthorityError {
    /// The same for a code that never was, that is over, and that somebody has decided.
    static let noLoginRequest = refuse(
        .notFound, "no program waits under this code; compare it, or let the program show another")
}
