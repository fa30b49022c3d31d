import Sessions

/// Limits for login requests.
enum LoginRequestLimit {
    /// Requests that wait.
    static let room = RequestRoom(things: "login requests", address: 10, network: 50, all: 4096)
    /// Wrong codes of one user, and from one address, within `LoginLimit.window`.
    static let ofUser = 10
    static let ofAddress = 30
}

/// The program's side of a login request: it asks, then asks whether it was allowed.
extension Authority {
    package func requestLogin(
        _ order: LoginRequestOrder
    ) async throws(AuthorityError) -> OpenLoginRequest {
        let origin = CountedOrigin(order.origin)
        let now = clock()
        // Before any other work: a refused request writes nothing.
        try await store.read { transaction throws(AuthorityError) in
            try requireRoom(for: origin, transaction, at: now)
        }
        let deviceCode = DeviceCode(random: try cryptography.random(DeviceCode.randomCount))
        let deviceHash = try hash(of: deviceCode)
        // A user code may be taken, although that is very unlikely.
        for _ in 0..<3 {
            guard let userCode = UserCode(random: try cryptography.random(UserCode.randomCount))
            else { continue }
            let record = LoginRequestRecord(
                deviceHash: deviceHash, userHash: try hash(of: userCode),
                program: order.program.description, origin: order.origin, createdAt: now,
                endsAt: now + LoginRequestRecord.life)
            let isKept = try await store.transact { transaction throws(AuthorityError) in
                try requireRoom(for: origin, transaction, at: now)
                return try transaction.insert(record)
            }
            guard isKept else { continue }
            return OpenLoginRequest(
                deviceCode: deviceCode, userCode: userCode,
                page: rules.info.publicURL + "/#/login", life: LoginRequestRecord.life,
                interval: LoginRequestRecord.interval)
        }
        throw .failed(layer: "crypto", text: "the random numbers are not random")
    }

    private func requireRoom(
        for origin: CountedOrigin, _ transaction: any AuthorityTransaction, at now: Timestamp
    ) throws(AuthorityError) {
        try LoginRequestLimit.room.require(for: origin, at: now) {
            scope, skipped throws(AuthorityError) in
            try transaction.loginRequestEnd(in: scope, skipping: skipped, after: now)
        }
    }

    package func login(_ attempt: LoginRequestUse) async throws(AuthorityError) -> LoggedIn {
        let hash = try hash(of: attempt.code)
        let now = clock()
        // A guess, and a program that asks too often, write nothing.
        let known = try await store.glance { transaction throws(AuthorityError) in
            try transaction.loginRequest(deviceHash: hash)
        }
        try require(known, at: now)
        let opened = try await transactAndTell { transaction throws(AuthorityError) in
            var request = try require(try transaction.loginRequest(deviceHash: hash), at: now)
            guard request.state != .waiting else {
                request.polledAt = now
                try transaction.update(request)
                return LoggedIn?.none
            }
            return try open(request, for: attempt, transaction, at: now)
        }
        guard let opened else { throw .authorizationPending }
        return opened
    }

    /// The request of a device code, if the program may ask now. Otherwise throws the refusal.
    @discardableResult
    private func require(
        _ found: LoginRequestRecord?, at now: Timestamp
    ) throws(AuthorityError) -> LoginRequestRecord {
        guard let found, found.endsAt > now else { throw .loginRequestOver }
        switch found.state {
        case .denied: throw .loginDenied
        case .allowed: return found
        case .waiting:
            guard !found.isAskedTooSoon(at: now) else { throw .slowDown }
            return found
        }
    }

    /// Spends an allowed request and opens its session.
    private func open(
        _ request: LoginRequestRecord, for attempt: LoginRequestUse,
        _ transaction: any AuthorityTransaction, at now: Timestamp
    ) throws(AuthorityError) -> LoggedIn {
        guard try transaction.deleteLoginRequest(deviceHash: request.deviceHash) else {
            throw .loginRequestOver
        }
        guard let session = request.session, let held = try transaction.held(session),
            held.user.objectID == request.user, held.user.isEnabled,
            held.session.isLive(at: now, under: rules.lifetimes) || held.session.isSignedOut
        else { throw .loginDenied }
        let opening = SessionOpening(
            authority: self, transaction: transaction, user: held.user, now: now)
        return try opening.login(
            CreatedWith(.login, by: .browser), on: nil,
            CustomFields(kept: ["name": .string(request.program)]), from: attempt.origin)
    }
}

extension SessionRecord {
    /// Whether its user ended it at the page. What they allowed before stays allowed.
    fileprivate var isSignedOut: Bool {
        state == .ended && endReason == UnavailableReason.signedOut.rawValue
    }
}

extension AuthorityError {
    static let authorizationPending = AuthorityError.refused(Refusal(
        .validation, "nobody has allowed this login yet; ask again later",
        name: .authorizationPending))
    static let loginDenied = AuthorityError.refused(Refusal(
        .forbidden, "this login was denied", name: .accessDenied))
    static let loginRequestOver = AuthorityError.refused(Refusal(
        .notFound, "this login request is over; make a new one", name: .expiredToken))
    static var slowDown: AuthorityError {
        var refusal = Refusal(
            .rateLimit, "you ask too often; wait five seconds longer", name: .slowDown)
        refusal.retryAfter = LoginRequestRecord.interval
        return .refused(refusal)
    }
}
