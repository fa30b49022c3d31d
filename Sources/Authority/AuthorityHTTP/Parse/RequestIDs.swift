import AuthorityCore
import Sessions

extension AuthorityFrontend {
    /// The frontend for the one change that a request makes. If the client gave the request an id,
    /// the change happens once for it. In a batch each request has an id of its own, made of the
    /// batch's id and its place.
    ///
    /// Source: Parse server, Idempotency.
    func once(
        for call: Call, by caller: Caller?
    ) async throws(AuthorityError) -> any AuthorityFrontend {
        guard let (text, part) = call.requestID else { return self }
        guard let id = NamedRequest.ID(text) else {
            throw .refused(Refusal(
                .validation, "X-Parse-Request-Id must have 1 to 100 visible ASCII characters"))
        }
        return try await once(NamedRequest(
            id, part: part, route: call.route, by: caller, from: call.origin))
    }
}
