import AuthorityCore
import Sessions

/// What the stub is asked of who people are elsewhere.
extension StubFrontend {
    /// Alice is somebody at one provider; a restricted session is not told.
    func identities(by caller: Caller) async throws(AuthorityError) -> [IdentityRecord] {
        guard !caller.session.restricted, let provider = LoginProvider("facebook") else {
            return []
        }
        return [
            IdentityRecord(
                provider: provider, issuer: "https://www.facebook.com", subject: "10158",
                user: caller.user.objectID, createdAt: time(0))
        ]
    }

    func link(
        _ proof: IdentityProof, from origin: String, by caller: Caller
    ) async throws(AuthorityError) {
        try note("link \(proof.noted) from \(origin)")
    }

    func unlink(_ provider: LoginProvider, by caller: Caller) async throws(AuthorityError) {
        try note("unlink \(provider)")
    }
}

extension IdentityProof {
    var noted: String {
        "\(provider), a token of \(token.secret.count) bytes\(id.map { ", id \($0)" } ?? "")"
    }
}
