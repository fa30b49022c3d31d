import AuthorityCore
import Gate
import Sessions
import Wire

/// A board of bob, and what he gives to carl.
struct SharedHouse {
    let house: House
    let bob: Caller
    let carl: Caller
    let board: BoardDouble
    let live: LiveBoard

    var id: InstallationID { board.installation }

    init() async throws {
        house = try await House()
        bob = try await house.addUser("bob")
        carl = try await house.addUser("carl")
        board = try BoardDouble()
        live = try await house.provisioned(board, by: bob)
    }

    /// The secret of a new link.
    func invite(
        _ terms: ShareTerms = ShareTerms(right: .see), by caller: Caller? = nil
    ) async throws -> InvitationSecret {
        let made = try await house.authority.invite(
            to: id, terms, lasting: nil, by: caller ?? bob)
        return try Self.secret(in: made.url)
    }

    static func secret(in url: String) throws -> InvitationSecret {
        let parts = url.split(separator: "/", omittingEmptySubsequences: false)
        guard url.hasPrefix("https://authority.example/#/invitation/"), let last = parts.last,
            let secret = InvitationSecret(String(last))
        else { throw NotThat() }
        return secret
    }

    @discardableResult
    func accept(
        _ secret: InvitationSecret, by caller: Caller, from origin: String = "192.0.2.1"
    ) async throws -> InvitationView {
        try await house.authority.accept(InvitationUse(secret, origin: origin), by: caller)
    }

    func share(_ terms: ShareTerms, with caller: Caller? = nil) async throws {
        try await accept(try await invite(terms), by: caller ?? carl)
    }

    /// What the caller may see of the board in the list; nil if it is not there.
    func listed(by caller: Caller) async throws -> Board? {
        let all = try await house.authority.boards(by: caller, everyone: false)
        var query = BoardQuery()
        query.order = .name
        let page = try await house.authority.boards(query, by: caller).entries.map(\.board)
        guard all == page else { throw NotThat() }
        return all.first { $0.installation == id }
    }

    func endShares() async throws {
        for entry in try await house.authority.shares(of: id, by: bob).shares {
            try await house.authority.endShare(entry.share.id, of: id, by: bob)
        }
    }
}

/// The code of the refusal; nil if there is none.
func refusalCode(_ body: () async throws -> Void) async throws -> Int? {
    do {
        try await body()
        return nil
    } catch let error as AuthorityError {
        guard case .refused(let refusal) = error else { throw error }
        return refusal.code
    }
}
