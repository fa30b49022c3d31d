package import Sessions

/// A text that logs its user in once: 25 letters and digits in groups of five, 125 random bits.
package struct RecoveryCode: Sendable {
    /// Only the answer that makes the code shows it.
    package let secret: SecretBytes

    private static let count = 25
    /// Crockford's base 32: without I, L, O and U, which people misread.
    private static let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)

    /// `random` has `randomCount` bytes, of each of which five bits count.
    init(random: [UInt8]) {
        let letters = random.prefix(Self.count).map { Self.alphabet[Int($0 & 31)] }
        let groups = stride(from: 0, to: letters.count, by: 5).map { start in
            letters[start..<min(start + 5, letters.count)]
        }
        secret = SecretBytes(Array(groups.joined(separator: [UInt8(ascii: "-")])))
    }

    static let randomCount = count

    /// The letters of a typed code, as they were made. Nil if it cannot be a code.
    static func letters(of typed: SecretBytes) -> [UInt8]? {
        guard typed.count <= 64 else { return nil }
        let letters = String(decoding: typed.reveal(), as: UTF8.self).uppercased().utf8
            .filter { $0 != UInt8(ascii: "-") && $0 != UInt8(ascii: " ") }
            .map { letter in
                switch letter {
                case UInt8(ascii: "O"): UInt8(ascii: "0")
                case UInt8(ascii: "I"), UInt8(ascii: "L"): UInt8(ascii: "1")
                default: letter
                }
            }
        guard letters.count == count, letters.allSatisfy(alphabet.contains) else { return nil }
        return letters
    }
}

extension Authority {
    package func makeRecoveryCode(
        of username: String, by caller: Caller
    ) async throws(AuthorityError) -> RecoveryCode {
        let code = RecoveryCode(random: try cryptography.random(RecoveryCode.randomCount))
        return try await act(.makeRecoveryCode, by: caller) { act throws(AuthorityError) in
            let user = try act.subject(named: username)
            try keep(code, of: user, actor: act.user.username, act.transaction, at: act.now)
            return code
        }
    }

    /// The same for the authority's command line. `actor` is the name for the audit log.
    package func makeRecoveryCode(
        of username: String, actor: String
    ) async throws(AuthorityError) -> RecoveryCode {
        let code = RecoveryCode(random: try cryptography.random(RecoveryCode.randomCount))
        let now = clock()
        return try await store.transact { transaction throws(AuthorityError) in
            guard let user = try transaction.user(named: username) else {
                throw .refuse(.notFound, "no such user")
            }
            try keep(code, of: user, actor: actor, transaction, at: now)
            return code
        }
    }

    private func keep(
        _ code: RecoveryCode, of user: UserRecord, actor: String,
        _ transaction: any AuthorityTransaction, at now: Timestamp
    ) throws(AuthorityError) {
        guard let hash = try hash(ofRecoveryCode: code.secret) else {
            throw .failed(layer: "crypto", text: "the random numbers are not random")
        }
        try transaction.save(
            RecoveryCodeRecord(user: user.objectID, hash: hash, createdAt: now))
        try audit("recovery.made", actor, nil, nil, user.username, transaction, at: now)
    }

    private func hash(ofRecoveryCode typed: SecretBytes) throws(AuthorityError) -> [UInt8]? {
        guard let letters = RecoveryCode.letters(of: typed) else { return nil }
        return try hash(of: SecretBytes(Array("postern/v1 recovery code ".utf8) + letters))
    }

    /// Logs in with a code and spends it. All failures have one answer.
    package func login(_ attempt: RecoveryLogin) async throws(AuthorityError) -> LoggedIn {
        let keys = LoginKeys(name: Username(attempt.username), origin: attempt.origin)
        try await countApart(keys)
        let hash = try hash(ofRecoveryCode: attempt.code)
        let now = clock()
        let opened = try await transactAndTell { transaction throws(AuthorityError) in
            let code = try transaction.recoveryCode(hash: hash ?? [])
            guard let code, let user = try transaction.user(code.user), user.isEnabled,
                Username(user.username)?.key == keys.name?.key,
                try transaction.deleteRecoveryCode(of: user.objectID)
            else { return LoggedIn?.none }
            try uncount(keys, transaction)
            let opened = try SessionOpening(
                authority: self, transaction: transaction, user: user, now: now
            ).login(CreatedWith(.login, by: .recovery), on: nil, from: attempt.origin)
            try audit(
                "recovery.used", user.username, nil, opened.session.objectID, attempt.origin,
                transaction, at: now)
            return opened
        }
        guard let opened else {
            try await store.transact { transaction throws(AuthorityError) in
                let typed = keys.name?.description ?? "unknown"
                try audit("login.failed", typed, nil, nil, attempt.origin, transaction, at: now)
            }
            throw .loginFailed
        }
        return opened
    }
}
