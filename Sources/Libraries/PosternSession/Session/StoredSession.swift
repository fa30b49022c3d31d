import Foundation

/// All that is kept of a session: the one record in the storage.
struct StoredSession: Sendable {
    let token: BearerToken
    let authority: AuthorityForm
    var user: AccountUser
    var details: SessionDetails
    var validatedAt: Date

    var availability: SessionAvailability { .available(details, validatedAt: validatedAt) }

    /// As JSON. It holds the token, so the storage keeps it from others.
    private struct Form: Codable {
        var version = 1
        let root: String
        let token: String
        let authority: AuthorityForm
        let user: AccountUser
        let session: SessionDetails
        let validatedAt: Double
    }

    func bytes(for root: URL) throws(SessionError) -> Data {
        let form = Form(
            root: root.absoluteString, token: token.reveal(), authority: authority, user: user,
            session: details, validatedAt: validatedAt.timeIntervalSince1970)
        do {
            return try JSONEncoder().encode(form)
        } catch {
            throw .storage(.failed("the session cannot be written as JSON"))
        }
    }

    /// Nil if this is no record, or one of another authority: its token must not be sent here.
    init?(bytes: Data, for root: URL) {
        guard let form = try? JSONDecoder().decode(Form.self, from: bytes), form.version == 1,
            form.root == root.absoluteString
        else { return nil }
        token = BearerToken(form.token)
        authority = form.authority
        user = form.user
        details = form.session
        validatedAt = Date(timeIntervalSince1970: form.validatedAt)
    }

    init(
        token: BearerToken, authority: AuthorityForm, user: AccountUser, details: SessionDetails,
        validatedAt: Date
    ) {
        self.token = token
        self.authority = authority
        self.user = user
        self.details = details
        self.validatedAt = validatedAt
    }
}
