import AuthorityStore
import Gate
import Sessions
import Testing
import Wire

@testable import AuthorityCore

/// What a call came to.
enum CallOutcome: Equatable, Sendable {
    case done
    case empty
    case refused(Int)
}

/// One call of the frontend, with what a restricted caller gets from it.
struct FrontendCall: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let expected: CallOutcome
    let run: @Sendable (House, Caller, LiveBoard) async throws -> Bool

    /// `run` says whether there was anything in the answer.
    init(
        _ name: String, _ expected: CallOutcome,
        _ run: @escaping @Sendable (House, Caller, LiveBoard) async throws -> Bool
    ) {
        testDescription = name
        self.expected = expected
        self.run = run
    }

    func outcome(_ house: House, _ caller: Caller, _ live: LiveBoard) async throws -> CallOutcome {
        do {
            return try await run(house, caller, live) ? .done : .empty
        } catch AuthorityError.refused(let refusal) {
            return .refused(refusal.code)
        }
    }

    static let all = [
        Self("caller", .done) { house, caller, _ in caller.user.username == "ada" },
        Self("upgrade", .refused(119)) { house, caller, _ in
            _ = try await house.authority.upgrade(caller)
            return true
        },
        Self("claim", .refused(119)) { house, caller, _ in
            try await house.claim(BoardDouble(), by: caller).state == .sent
        },
        Self("claim state", .refused(101)) { house, caller, live in
            try await house.authority.claim(live.id, by: caller).state == .accepted
        },
        Self("boards", .empty) { house, caller, _ in
            try await !house.authority.boards(by: caller, everyone: false).isEmpty
        },
        Self("everyone's boards", .refused(119)) { house, caller, _ in
            try await !house.authority.boards(by: caller, everyone: true).isEmpty
        },
        Self("release", .refused(119)) { house, caller, live in
            try await house.authority.release(live.board.installation, by: caller)
            return true
        },
        Self("explain", .refused(101)) { house, caller, live in
            let write = NamedWrite(
                app: try #require(AppName("any")), className: .user, operation: .update)
            let order = ExplainOrder(
                board: live.board.installation, write: write, payload: [])
            return try await !house.authority.explain(order, by: caller).verdicts.isEmpty
        },
        Self("sessions", .done) { house, caller, live in
            let seen = try await house.authority.sessions(by: caller, everyone: false)
            #expect(Set(seen.map(\.session.objectID)) == [
                live.session, caller.session.objectID,
            ])
            return seen.allSatisfy(\.session.restricted)
        },
        Self("everyone's sessions", .refused(119)) { house, caller, _ in
            try await !house.authority.sessions(by: caller, everyone: true).isEmpty
        },
        Self("own session", .done) { house, caller, _ in
            try await house.authority.session(caller.session.objectID, by: caller)
                .session == caller.session
        },
        Self("another restricted session", .done) { house, caller, live in
            try await house.authority.session(live.session, by: caller).state == .active
        },
        Self("an unrestricted session", .refused(101)) { house, caller, _ in
            let owner = try await house.login()
            _ = try await house.authority.session(owner.session.objectID, by: caller)
            return true
        },
        Self("another user's session", .refused(101)) { house, caller, _ in
            let name = "bob-\(try MessageID.fresh())"
            let device = try await house.device(by: house.addUser(name)).caller
            _ = try await house.authority.session(device.session.objectID, by: caller)
            return true
        },
        Self("revoke own", .refused(119)) { house, caller, _ in
            try await house.authority.revoke(caller.session.objectID, by: caller)
            return true
        },
        Self("revoke another", .refused(119)) { house, caller, live in
            try await house.authority.revoke(live.session, by: caller)
            return true
        },
        Self("make a session", .refused(119)) { house, caller, _ in
            _ = try await house.device(by: caller)
            return true
        },
        Self("update own installation", .done) { house, caller, _ in
            let phone = try BoardDouble().installation
            return try await house.authority.update(
                caller.session.objectID, with: SessionDraft(installation: phone, custom: [:]),
                by: caller
            ).session.installationID == phone
        },
        Self("update own fields", .refused(119)) { house, caller, _ in
            _ = try await house.authority.update(
                caller.session.objectID,
                with: SessionDraft(installation: nil, custom: ["x": .null]), by: caller)
            return true
        },
        Self("update another", .refused(119)) { house, caller, live in
            _ = try await house.authority.update(
                live.session, with: SessionDraft(installation: nil, custom: [:]), by: caller)
            return true
        },
        Self("extend own", .refused(119)) { house, caller, _ in
            _ = try await house.authority.extend(
                caller.session.objectID, by: .seconds(600), shortens: true, by: caller)
            return true
        },
        Self("change the scope of own", .refused(119)) { house, caller, _ in
            _ = try await house.authority.setScope(
                ScopeDocument(unchecked: .object([:])), of: caller.session.objectID, by: caller)
            return true
        },
        Self("revoke all", .refused(119)) { house, caller, _ in
            try await house.authority.revokeAll(of: "ada", by: caller) > 0
        },
        Self("users", .refused(119)) { house, caller, _ in
            try await !house.authority.users(by: caller).isEmpty
        },
        Self("add a user", .refused(119)) { house, caller, _ in
            _ = try await house.authority.addUser(
                NewUser(
                    username: "eve", password: house.password, isAdministrator: true,
                    mayClaim: true),
                by: caller)
            return true
        },
        Self("set a password", .refused(119)) { house, caller, _ in
            try await house.authority.setPassword(
                PasswordChange(
                    username: "ada", password: SecretBytes("another password"),
                    old: house.password, keepsBoards: false, origin: "x"),
                by: caller)
            return true
        },
        Self("disable a user", .refused(119)) { house, caller, _ in
            _ = try await house.authority.setEnabled(false, user: "ada", by: caller)
            return true
        },
        Self("audit", .refused(119)) { house, caller, _ in
            try await !house.authority.audit(AuditQuery(limit: 1, board: nil), by: caller)
                .isEmpty
        },
        Self("broker login", .refused(119)) { house, caller, _ in
            try await !house.authority.brokerLogin(by: caller).filters.isEmpty
        },
        Self("consumers", .refused(119)) { house, caller, _ in
            try await !house.authority.consumers(by: caller).isEmpty
        },
        Self("alerts", .empty) { house, caller, _ in
            try await !house.authority.alerts(AlertQuery(), by: caller).isEmpty
        },
        Self("everyone's alerts", .refused(119)) { house, caller, _ in
            try await !house.authority.alerts(AlertQuery(everyone: true), by: caller).isEmpty
        },
        Self("test the alerts", .refused(119)) { house, caller, _ in
            try await house.authority.checkAlertTest(by: caller)
            return true
        },
        Self("identities", .empty) { house, caller, _ in
            try await !house.authority.identities(by: caller).isEmpty
        },
        Self("unlink", .refused(119)) { house, caller, _ in
            let provider = try #require(LoginProvider("facebook"))
            try await house.authority.unlink(provider, by: caller)
            return true
        },
        Self("link", .refused(119)) { house, caller, _ in
            let provider = try IDProvider()
            try await house.authority.link(
                provider.proof(of: "1", house), from: "x", by: caller)
            return true
        },
        Self("save an installation", .done) { house, caller, _ in
            try await house.authority.saveInstallation(
                InstallationDraft(
                    installation: BoardDouble().installation, claimed: nil,
                    fields: ["deviceType": .string("embedded")], origin: "x"),
                by: caller
            ).isNew
        },
        Self("installations", .refused(119)) { house, caller, _ in
            try await !house.authority.installations(.longest, by: caller).isEmpty
        },
        Self("roles", .empty) { house, caller, _ in
            try await !house.authority.roles(by: caller).isEmpty
        },
        Self("make a role", .refused(119)) { house, caller, _ in
            try await house.authority.makeRole(.named("Mine"), by: caller).users.isEmpty
        },
        Self("change a role", .refused(119)) { house, caller, live in
            try await house.authority.updateRole(live.session, with: .named("Mine"), by: caller)
                .users.isEmpty
        },
        Self("delete a role", .refused(119)) { house, caller, live in
            try await house.authority.deleteRole(live.session, by: caller)
            return true
        },
        Self("logout", .done) { house, caller, _ in
            try await house.authority.logout(caller)
            return try await house.record(caller.session.objectID)?.state == .ended
        },
    ]
}

@Suite("Restricted caller", .everyStoreInLong)
struct RestrictedCallerTests {
    /// An administrator's restricted session: his rights are none of its.
    @Test("gets from each call what the contract leaves it", arguments: FrontendCall.all)
    func each(call: FrontendCall) async throws {
        let house = try await House()
        let ada = try await house.login()
        let live = try await house.provisioned(BoardDouble(), by: ada)
        let device = try await house.device(by: ada)
        #expect(try await call.outcome(house, device.caller, live) == call.expected)
        #expect(try await live.authenticate().result != nil)
        #expect(try await house.record(ada.session.objectID)?.state == .active)
    }

    @Test("whose session ended since it was looked at does nothing, as any caller",
          arguments: FrontendCall.all.dropFirst())
    func ended(call: FrontendCall) async throws {
        let house = try await House()
        let ada = try await house.login()
        let owner = try await house.login()
        let live = try await house.provisioned(BoardDouble(), by: ada)
        let device = try await house.device(by: ada)
        for caller in [device.caller, owner] {
            try await house.authority.revoke(caller.session.objectID, by: ada)
            let before = try await house.sessionCount()
            #expect(try await call.outcome(house, caller, live) == .refused(209))
            // Some calls log in to have somebody to try it on.
            #expect(try await house.sessionCount() <= before + 2)
            #expect(try await live.authenticate().result != nil)
        }
        #expect(try await house.audit("user.revoked").isEmpty)
    }

    @Test("with a token of a board's session is nobody")
    func boardToken() async throws {
        let house = try await House()
        let ada = try await house.login()
        let live = try await house.provisioned(BoardDouble(), by: ada)
        await expectRefusal(.invalidSession) {
            try await house.authority.caller(live.provision.tokens.session)
        }
        // Nor if somebody makes a caller of it.
        let forged = Caller(user: ada.user, session: live.provision.session)
        await expectRefusal(.invalidSession) {
            try await house.authority.sessions(by: forged, everyone: false)
        }
    }

    @Test("has the rights of this moment, not those of his login")
    func rights() async throws {
        let house = try await House()
        let bob = try await house.addUser("bob")
        let claimed = Caller(
            user: UserView(
                objectID: bob.user.objectID, username: "bob", isAdministrator: true,
                mayClaim: true, createdAt: bob.user.createdAt),
            session: bob.session)
        await expectRefusal(.forbidden) { try await house.authority.users(by: claimed) }
        let ada = try await house.login()
        let stolen = Caller(user: ada.user, session: bob.session)
        await expectRefusal(.invalidSession) { try await house.authority.users(by: stolen) }
    }

    @Test("is judged by one table", arguments: CallKind.allCases)
    func table(deed: CallKind) {
        let forAdministrators: [CallKind] = [
            .everyBoard, .everyOpenClaim, .everySession, .users, .addUser, .changeUser, .audit,
            .makeRole, .everyAlert, .testAlerts,
        ]
        for (restricted, administrator, mayClaim) in [
            (false, false, false), (false, false, true), (false, true, false),
            (true, false, true), (true, true, true),
        ] {
            let verdict = CallerRights(
                isRestricted: restricted, isAdministrator: administrator, mayClaim: mayClaim
            ).judge(deed)
            let isRefused = if case .refused(let refusal) = verdict {
                refusal.is(.forbidden)
            } else { false }
            switch deed {
            case _ where forAdministrators.contains(deed):
                #expect(isRefused == (restricted || !administrator))
            case .logout, .ownSessions, .session, .update, .installation, .readRoles:
                #expect(verdict == .allowed)
            case .everyInstallation:
                #expect(isRefused)
            case .ownBoards, .board, .claimState, .openClaims, .identities, .explain,
                .ownAlerts, .commands, .configuration:
                #expect(verdict == (restricted ? .nothing : .allowed))
            case .claim, .renew, .readClaimCode, .nameClaimCode, .prepareClaims, .preparedClaims,
                .acceptPreparedClaim:
                #expect(isRefused == (restricted || !(mayClaim || administrator)))
            default:
                #expect(isRefused == restricted)
            }
        }
    }
}

@Suite("The authority's own writes", .everyStore)
struct OwnWriteTests {
    @Test("are refused to a restricted session by the board's gate", arguments: CallKind.allCases)
    func gate(deed: CallKind) throws {
        guard let name = deed.writtenClass, deed != .logout, deed != .update else { return }
        let rights = CallerRights(isRestricted: true, isAdministrator: false, mayClaim: true)
        guard case .refused(let refusal) = rights.judge(deed) else {
            Issue.record("\(deed) is allowed")
            return
        }
        let write = Write(
            app: try #require(AppName("any")), className: name, operation: .update, payload: [])
        guard case .deny(let rejection) = Gate(policy: nil, scope: nil).decide(write) else {
            Issue.record("the gate allows \(name)")
            return
        }
        let isForAdministrators = [.addUser, .changeUser, .makeRole].contains(deed)
        #expect(refusal.is(rejection.code))
        #expect(
            isForAdministrators
                || refusal.text == "\(rejection.rule): \(rejection.reason)")
    }
}

extension House {
    fileprivate func sessionCount() async throws -> Int {
        try await store.read { transaction throws(AuthorityError) in
            try transaction.sessions(of: nil, .current, .longest).count
        }
    }
}
