import AuthorityCore
import Sessions

/// Nobody prepares claims at the stub.
extension StubFrontend {
    func prepareClaims(
        _ order: PreparedClaimOrder, by caller: Caller
    ) throws(AuthorityError) -> [NewPreparedClaim] {
        throw .refused(Refusal(.validation, "no prepared claims"))
    }

    func preparedClaims(by caller: Caller) throws(AuthorityError) -> [PreparedClaimView] { [] }

    func acceptPreparedClaim(
        _ id: InstallationID, by caller: Caller
    ) throws(AuthorityError) -> Claim {
        throw .refused(Refusal(.notFound, "no such prepared claim"))
    }

    func endPreparedClaim(
        _ id: InstallationID, by caller: Caller
    ) throws(AuthorityError) -> Bool {
        throw .refused(Refusal(.notFound, "no such prepared claim"))
    }
}
