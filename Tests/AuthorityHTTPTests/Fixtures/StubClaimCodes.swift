import AuthorityCore
import Sessions

/// The stub has no codes of boards; `Tests/Interop/test_claim_code.py` has some.
extension StubFrontend {
    func openClaimCode(_ order: ClaimCodeOrder) async throws(AuthorityError) -> OpenClaimCode {
        try note("claim code for \(order.name) from \(order.origin)")
        throw .sessionOver
    }

    func claimCodeState(_ code: DeviceCode) async throws(AuthorityError) -> ClaimCodeState {
        try note("claim code's state")
        return .named(username: "alice", authority: "Home")
    }

    func confirmClaimCode(
        _ code: DeviceCode, _ secret: SecretBytes
    ) async throws(AuthorityError) -> Claim {
        try note("confirm claim code")
        throw .sessionOver
    }

    func refuseClaimCode(_ code: DeviceCode) async throws(AuthorityError) {
        try note("refuse claim code")
    }

    func claimCode(
        _ typed: TypedCode, by caller: Caller
    ) async throws(AuthorityError) -> ClaimCodeView {
        try note("claim code \(typed.code)")
        throw .sessionOver
    }

    func nameClaimCode(
        _ typed: TypedCode, _ terms: ClaimTerms, by caller: Caller
    ) async throws(AuthorityError) -> ClaimCodeView {
        try note("name claim code \(typed.code) for \(terms.duration?.components.seconds ?? 0) s")
        throw .sessionOver
    }

    func claimCodeProgress(
        _ typed: TypedCode, by caller: Caller
    ) async throws(AuthorityError) -> ClaimCodeProgress {
        try note("progress of claim code \(typed.code)")
        return .named
    }
}
