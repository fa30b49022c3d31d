import AuthorityCore
import Sessions

/// Nobody shares a board of the stub.
extension StubFrontend {
    func invite(
        to board: InstallationID, _ terms: ShareTerms, lasting: Duration?, by caller: Caller
    ) throws(AuthorityError) -> NewInvitation {
        throw .refused(Refusal(.notFound, "no such board"))
    }

    func shares(
        of board: InstallationID, by caller: Caller
    ) throws(AuthorityError) -> BoardShares { BoardShares(shares: [], invitations: []) }

    func sharedBoards(by caller: Caller) throws(AuthorityError) -> [ShareRecord] { [] }

    func endShare(
        _ id: ObjectID, of board: InstallationID, by caller: Caller
    ) throws(AuthorityError) {
        throw .refused(Refusal(.notFound, "no such share"))
    }

    func endInvitation(
        _ id: ObjectID, to board: InstallationID, by caller: Caller
    ) throws(AuthorityError) {
        throw .refused(Refusal(.notFound, "no such invitation"))
    }

    func invitation(
        _ use: InvitationUse, by caller: Caller
    ) throws(AuthorityError) -> InvitationView {
        throw .refused(Refusal(.notFound, "no such invitation"))
    }

    func accept(
        _ use: InvitationUse, by caller: Caller
    ) throws(AuthorityError) -> InvitationView {
        throw .refused(Refusal(.notFound, "no such invitation"))
    }
}
