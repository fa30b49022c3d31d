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

    /// There is a button for one provider.
    func departure(
        to name: LoginProvider, isAgain: Bool
    ) async throws(AuthorityError) -> ProviderDeparture {
        guard name.description == "facebook" else { throw .refused(Refusal(.notFound, "none")) }
        try note("depart\(isAgain ? " again" : "")")
        return ProviderDeparture(
            address: "https://login.example/", visit: SecretBytes(Array("visit".utf8)))
    }

    /// The state says how it ends.
    func login(
        _ arrival: ProviderArrival
    ) async throws(AuthorityError) -> Result<LoggedIn, ProviderProblem> {
        let visit = arrival.visit.map { String(decoding: $0.reveal(), as: UTF8.self) } ?? "none"
        let problem = arrival.state.flatMap(ProviderProblem.init(rawValue:))
        try note("arrive, visit \(visit)")
        if let problem { return .failure(problem) }
        return .success(try await login(
            LoginAttempt(
                username: "alice", password: SecretBytes(Array("correct".utf8)),
                origin: arrival.origin)))
    }
}

extension IdentityProof {
    var noted: String {
        "\(provider), a token of \(token.secret.count) bytes\(id.map { ", id \($0)" } ?? "")"
    }
}
