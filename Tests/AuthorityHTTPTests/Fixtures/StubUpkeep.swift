import AuthorityCore
import Sessions
import Wire

/// What the stub is asked of sessions' and users' lives.
extension StubFrontend {
    func alerts(_ query: AlertQuery, by caller: Caller) async throws(AuthorityError) -> [Alert] {
        try note("alerts everyone \(query.everyone) resolved \(query.withResolved)")
        guard let first = MessageID(Self.claimID), let board = InstallationID(Self.iid),
            let second = MessageID("11111111-2222-4333-8444-666666666666")
        else { throw .failed(layer: "stub", text: "ids") }
        return [
            Alert(
                id: first, kind: .boardOffline, board: board, boardName: "greenhouse",
                text: "greenhouse is offline", details: ["lastHeard": .integer(1_700_000_000)],
                openedAt: time(60), messages: 1),
            Alert(
                id: second, kind: .refusals, board: nil, boardName: "", text: "7 boards: x",
                details: [:], openedAt: time(30), resolvedAt: time(90), messages: 2),
        ]
    }

    /// All but `iid`. One that begins with 7 was called attic.
    func formerBoards(
        among boards: [InstallationID], by caller: Caller
    ) async throws(AuthorityError) -> [FormerBoard] {
        try note("former \(boards.count)")
        return boards.filter { $0.description != Self.iid }.map { board in
            FormerBoard(
                installation: board, name: "\(board)".hasPrefix("7") ? "attic" : nil)
        }
    }

    func dataDeletion(
        of board: InstallationID, by caller: Caller
    ) async throws(AuthorityError) -> DataRelease {
        try note("forget \(board)")
        return DataRelease(board: board, owner: caller.user.objectID, at: time(0))
    }

    func checkAlertTest(by caller: Caller) async throws(AuthorityError) {
        try note("alerts test")
    }

    func signUp(_ attempt: SignUp) async throws(AuthorityError) -> LoggedIn {
        let name: String
        switch attempt.credential {
        case .password(let username, _):
            name = username
            try note("sign up \(username) from \(attempt.origin)\(at(attempt.installation))"
                + attempt.profile.noted)
        case .anonymous(let id):
            name = id.matches(SecretBytes(Array("again".utf8))) ? "known" : "nobody"
            try note("sign up anonymous, an id of \(id.count) bytes" + attempt.profile.noted)
        case .identity(let proof):
            name = proof.id == "again" ? "known" : "nobody"
            try note("sign up \(proof.noted)\(at(attempt.installation))")
        }
        return try opened(action: name == "known" ? "login" : "signup", user: try user(name))
    }

    func upgrade(_ caller: Caller) async throws(AuthorityError) -> LoggedIn {
        try note("upgrade \(caller.session.objectID)")
        return try opened(action: "upgrade", user: caller.user)
    }

    func makeSession(
        _ draft: SessionDraft, by caller: Caller
    ) async throws(AuthorityError) -> LoggedIn {
        try note("make \(json(draft.custom))\(at(draft.installation))")
        return try opened(
            action: "create", user: caller.user, installation: draft.installation,
            custom: draft.custom)
    }

    private func opened(
        action: String, user: UserView, installation: InstallationID? = nil,
        custom: [String: JSONValue] = [:]
    ) throws(AuthorityError) -> LoggedIn {
        guard let token = SessionToken(Self.freshToken) else {
            throw .failed(layer: "stub", text: "token")
        }
        return LoggedIn(
            token: token,
            session: Session(
                objectID: try id("sEsS000003"), user: user.objectID,
                restricted: action == "create",
                createdWith: CreatedWith(action: action, authProvider: "password"),
                installationID: installation, createdAt: time(10), expiresAt: time(7200),
                custom: custom),
            user: user)
    }

    func update(
        _ id: ObjectID, with draft: SessionDraft, by caller: Caller
    ) async throws(AuthorityError) -> SessionView {
        try note("update \(id) \(json(draft.custom))\(at(draft.installation))")
        return try view(board: true, custom: draft.custom)
    }

    func renew(
        _ board: InstallationID, _ duration: Duration?, by caller: Caller
    ) async throws(AuthorityError) -> Claim {
        try note("renew \(board)" + (duration.map { " for \($0.components.seconds) s" } ?? ""))
        guard let id = MessageID(Self.claimID) else {
            throw .failed(layer: "stub", text: "claim")
        }
        return Claim(
            id: id, board: board, session: try self.id("sEsS000002"), state: .sent,
            expiresAt: time(3600), isRenewal: true)
    }

    func setScope(
        _ scope: ScopeDocument, of id: ObjectID, by caller: Caller
    ) async throws(AuthorityError) -> SessionView {
        try note("scope of \(id): \(scope.json.text)")
        self.scope = scope
        isScopePending = true
        return try view(board: true)
    }

    func extend(
        _ id: ObjectID, by span: Duration, shortens: Bool, by caller: Caller
    ) async throws(AuthorityError) -> SessionView {
        try note(
            "extend \(id) by \(span.components.seconds) s\(shortens ? ", or shorten it" : "")")
        return try view(board: true, expiresAt: time(120 + span.components.seconds))
    }

    func waitForRelease() async {
        if holdsLogins { await withCheckedContinuation { heldLogins.append($0) } }
    }

    func revokeAll(
        of username: String, keepsBoards: Bool, by caller: Caller
    ) async throws(AuthorityError) -> Int {
        try note("revoke all of \(username)\(keepsBoards ? " but boards" : "")")
        return liveSessions
    }

    func change(
        _ user: UserID, _ change: ProfileChange, by caller: Caller
    ) async throws(AuthorityError) -> UserView {
        if let password = change.password { try await setPassword(password, by: caller) }
        if !change.noted.isEmpty { try note("change \(user)\(change.noted)") }
        return UserView(
            objectID: user, username: change.username ?? "alice", isAdministrator: true,
            mayClaim: true, createdAt: time(0), updatedAt: time(9), fields: change.fields)
    }

    func setPassword(
        _ change: PasswordChange, by caller: Caller
    ) async throws(AuthorityError) {
        try note("password of \(change.username) \(change.old == nil ? "unasked" : "with the old")"
            + " boards \(change.keepsBoards ? "stay" : "end") from \(change.origin)")
        if let old = change.old, !old.matches(SecretBytes(Array("correct".utf8))) {
            throw .refused(Refusal(.notFound, "wrong password"))
        }
    }

    func change(
        _ name: String, _ change: UserChange, by caller: Caller
    ) async throws(AuthorityError) -> UserView {
        if let isEnabled = change.isEnabled {
            try note("\(isEnabled ? "enable" : "disable") \(name)")
        }
        if let mayClaim = change.mayClaim {
            try note("\(name) \(mayClaim ? "may" : "may not") claim")
        }
        return try user(name, isEnabled: change.isEnabled ?? true)
    }

    func board(
        _ id: InstallationID, by caller: Caller
    ) async throws(AuthorityError) -> BoardDetail {
        try note("board \(id)")
        return BoardDetail(board: try board(), openClaim: nil)
    }

    func change(
        _ id: InstallationID, _ change: BoardChange, by caller: Caller
    ) async throws(AuthorityError) -> Board {
        if let name = change.name { try note("rename \(id) to \(name)") }
        var labels: [BoardLabel] = []
        switch change.labels {
        case .set(let all):
            try note("label \(id) \(Self.words(all))")
            labels = Array(all.sorted().prefix(1))
        case .change(let added, let removed):
            try note("label \(id) +\(Self.words(added)) -\(Self.words(removed))")
        case nil: break
        }
        await waitForRelease()
        return try board(named: change.name?.description ?? "greenhouse", labels: labels)
    }

    private static func words(_ labels: Set<BoardLabel>) -> String {
        labels.sorted().map(\.description).joined(separator: " ")
    }

    /// The first page of two, with the same board on each. One that begins with far has no label.
    func boards(_ query: BoardQuery, by caller: Caller) async throws(AuthorityError) -> BoardPage {
        try note("page everyone \(query.everyone) \(query.order) \(query.limit)"
            + " \(query.search?.key ?? "-") \(query.label?.description ?? "-")"
            + (query.after.map { " after \($0.nameKey)" } ?? ""))
        var page = BoardPage()
        page.entries = [BoardPage.Entry(board: try board(), attention: .offline)]
        guard query.after == nil else { return page }
        let labelled = more.filter { !$0.isBobs && !$0.name.hasPrefix("far") }
        page.entries += try labelled.map { entry throws(AuthorityError) in
            BoardPage.Entry(board: try board(named: entry.name, entry.id), attention: .offline)
        }
        page.counts = BoardCounts(all: 2, online: 1, needing: [.offline: 1])
        page.labels = BoardLabel("barn").map { [$0: 2] }
        page.next = InstallationID(Self.iid).map { id in
            BoardPosition(
                attention: query.order == .attention ? .offline : nil, nameKey: "greenhouse",
                board: id)
        }
        return page
    }

    func timeline(
        of board: InstallationID, by caller: Caller
    ) async throws(AuthorityError) -> [TimelineEntry] {
        try note("timeline \(board)")
        return [
            TimelineEntry(
                event: .refreshed, session: try id("sEsS000002"), at: time(10), until: time(90),
                count: 3, detail: "")
        ]
    }
}

extension ProfileChange {
    /// All but the password.
    var noted: String {
        var text = username.map { " name \($0)" } ?? ""
        switch email {
        case .set(let address)?: text += " e-mail \(address)"
        case .remove?: text += " no e-mail"
        case nil: break
        }
        switch anonymousID {
        case .keep(let id)?: text += " still anonymous, an id of \(id.count) bytes"
        case .remove?: text += " not anonymous"
        case nil: break
        }
        return fields.isEmpty ? text : text + " \(JSONValue.object(fields).text)"
    }
}
