import AuthorityCore
import Foundation
import Sessions
import Testing

@Suite("Command line of sessions and users")
struct LifeCommandTests {
    @Test("lists sessions with all that tells them apart")
    func sessions() async throws {
        try await Person.loggedIn { person in
            #expect(await person.types("sessions") == """
                SESSION     STATE   USER   BOARD       NAME  KIND        GENERATION  \
                CREATED                       EXPIRES                       LAST SEEN
                sEsS000001  active  alice                    full                    \
                2023-11-14 22:13 (1 min ago)  never                         never
                sEsS000002  active  alice  greenhouse        restricted  7           \
                2023-11-14 22:13 (1 min ago)  2023-11-14 23:13 (in 58 min)  \
                2023-11-14 22:14 (1 min ago)
                [0]
                """)
        }
    }

    @Test("extends a session, and says how far", arguments: [
        ("5m", 300, "in 5 min"), ("30d", 2_592_000, "in 30 d"), ("365d", 31_536_000, "in 365 d"),
    ])
    func extend(span: String, seconds: Int, words: String) async throws {
        try await Person.loggedIn { person in
            let seen = await person.types("sessions extend sEsS000002 \(span)")
            #expect(seen.hasPrefix(
                "! ✓ sEsS000002 of alice on greenhouse (3f1f7c0e) now ends at "))
            #expect(seen.hasSuffix("(\(words))\n[0]"))
            #expect(await person.console.frontend.calls.last
                == "extend sEsS000002 by \(seconds) s")
            _ = await person.types("sessions extend sEsS000002 \(span) --shorten")
            #expect(await person.console.frontend.calls.last
                == "extend sEsS000002 by \(seconds) s, or shorten it")
            let json = await person.types("sessions extend sEsS000002 \(span) --json")
            let end = StubFrontend.start + 120 + seconds
            #expect(json.contains("\"expiresAt\":\(end),\"generation\":7"))
        }
    }

    @Test("changes a scope, and waits for the board")
    func scope() async throws {
        let text = #"{"default":"deny"}"#
        try await Person.loggedIn { person in
            let file = try person.write("scope.json", text)
            #expect(await person.types("sessions scope sEsS000002 \(file)") == """
                ! ✓ changed sEsS000002 of alice on greenhouse (3f1f7c0e); waiting for the board
                ! ✓ in force on the board
                [0]
                """)
            #expect(await person.console.frontend.calls.suffix(2)
                == ["scope of sEsS000002: \(text)", "session sEsS000002"])
            await person.console.frontend.leaveScopesPending()
            let seen = await person.types("sessions scope sEsS000002 \(file) --wait 1s --json")
            #expect(seen.contains("! the board has not confirmed it in 1 s: it takes the scope"))
            #expect(seen.contains(#""scope":{"default":"deny"},"scopePending":true"#))
            let shown = await person.types("sessions show sEsS000002")
            #expect(shown.contains(#"scope         {"default":"deny"} (waiting for the board)"#))
            let listed = await person.types("sessions")
            #expect(listed.contains("sEsS000002  active, scope waits for the board"))
        }
    }

    @Test("says what is wrong with a scope before anybody is asked", arguments: [
        (#"{"defalt":"deny"}"#, "a scope has no member defalt"),
        (#"{"default":"deny","default":"deny"}"#, "default is there twice"),
    ])
    func wrongScope(text: String, words: String) async throws {
        try await Person.loggedIn { person in
            let file = try person.write("scope.json", text)
            let seen = await person.types("sessions scope sEsS000002 \(file)")
            #expect(seen.contains("\(file): \(words)"))
            #expect(seen.hasSuffix("[78]"))
            #expect(await person.console.frontend.calls.count == 1)
        }
    }

    @Test("ends all sessions of a user and says how many", arguments: [
        (0, "nothing to end: bob has no other session"), (1, "ended 1 session of bob"),
        (3, "ended 3 sessions of bob"),
    ])
    func revokeAll(count: Int, words: String) async throws {
        try await Person.loggedIn { person in
            await person.console.frontend.haveLiveSessions(count)
            #expect(await person.types("sessions revoke --all-of bob --json") == """
                ! ✓ \(words)
                {"ended":\(count),"username":"bob"}
                [0]
                """)
            #expect(await person.console.frontend.calls.last == "revoke all of bob")
        }
    }

    @Test("refuses to guess what is to be revoked", arguments: [
        "sessions revoke", "sessions revoke sEsS000002 --all-of bob",
    ])
    func revokeNothing(line: String) async throws {
        try await Person.loggedIn { person in
            let seen = await person.types(line)
            #expect(seen.contains("give a session, --label LABEL or --all-of USER"))
            #expect(seen.hasSuffix("[2]"))
            #expect(await person.console.frontend.calls.count == 1)
        }
    }

    @Test("sets one's own password, asking for what no file gives")
    func passwd() async throws {
        try await Person.loggedIn { person in
            let asked = await person.types(
                "passwd", secrets: ["correct", "new password", "new password"])
            #expect(asked == """
                ? Your password:\u{20}
                ? The new password:\u{20}
                ? Repeat it:\u{20}
                ! ✓ set the password of alice; other sessions have ended, those on boards too
                [0]
                """)
            #expect(await person.console.frontend.calls.last
                == "password of alice with the old boards end from 127.0.0.1")
            let old = try person.write("old", "correct\n")
            let new = try person.write("new", "new password\n")
            let line = "passwd --old-password-file \(old) --password-file \(new) --keep-boards"
            #expect(await person.types(line + " --json") == """
                ! ✓ set the password of alice; other sessions have ended, those on boards stay
                {"keepBoards":true,"username":"alice"}
                [0]
                """)
            #expect(await person.console.frontend.calls.last
                == "password of alice with the old boards stay from 127.0.0.1")
        }
    }

    @Test("sets no password that was not meant", arguments: [
        (["correct", "one", "two"], "! postern: the two passwords differ\n[2]"),
        (["correct", ""], "! postern: the password is empty\n[2]"),
        (["correct"], "! postern: no password was given\n[2]"),
        ([], "! postern: no password was given\n[2]"),
        (["wrong", "new", "new"], "! postern: authority: wrong password (101)\n[1]"),
    ])
    func wrongPasswd(typed: [String], end: String) async throws {
        try await Person.loggedIn { person in
            let seen = await person.types("passwd", secrets: typed)
            #expect(seen.hasSuffix(end), "\(seen)")
            for secret in ["correct", "one", "two", "wrong\"", "new\""] {
                #expect(!seen.contains(secret) || end.contains(secret))
            }
        }
    }

    @Test("sets another's password, and lets a user in or not")
    func users() async throws {
        try await Person.loggedIn { person in
            let line = "users password bob --password-file - --keep-boards"
            #expect(await person.types(line, input: "new password") == """
                ! ✓ set the password of bob; other sessions have ended, those on boards stay
                [0]
                """)
            #expect(await person.types("users disable bob")
                == "! ✓ disabled bob; every session has ended\n[0]")
            #expect(await person.types("users enable bob --json") == """
                ! ✓ enabled bob
                {"createdAt":1700000000,"enabled":true,"isAdministrator":false,\
                "mayClaim":false,"objectId":"uSeR000002","username":"bob"}
                [0]
                """)
            #expect(await person.types("users disable a/../b").hasSuffix("[2]"))
            let calls = await person.console.frontend.calls.filter { $0 != "users" }
            #expect(calls.suffix(3) == [
                "password of bob unasked boards stay from 127.0.0.1", "disable bob",
                "enable bob",
            ])
        }
    }

    @Test("shows a user, and allows and denies claims")
    func allow() async throws {
        try await Person.loggedIn { person in
            #expect(await person.types("users allow bob claim") == "! ✓ bob may claim boards\n[0]")
            #expect(await person.types("users deny uSeR000002 claim --json")
                .hasPrefix("! ✓ bob may not claim boards\n{\"createdAt\":"))
            let calls = await person.console.frontend.calls
            #expect(calls.filter { $0.hasPrefix("bob") } == ["bob may claim", "bob may not claim"])
            #expect(await person.types("users show bob") == """
                NAME     bob
                state    disabled
                id       uSeR000002
                rights
                created  2023-11-14 22:13 (2 min ago)
                [0]
                """)
            #expect(await person.types("users show alice --json")
                .contains("\"isAdministrator\":true,\"mayClaim\":true"))
        }
    }

    @Test("renames a board and a session")
    func rename() async throws {
        try await Person.loggedIn { person in
            #expect(await person.types("boards rename greenhouse shed")
                == "! ✓ renamed greenhouse (\(StubFrontend.iid)) to shed\n[0]")
            #expect(await person.types("sessions rename greenhouse porch")
                == "! ✓ sEsS000002 of alice on greenhouse (3f1f7c0e) is now named porch\n[0]")
            let calls = await person.console.frontend.calls
            #expect(calls.contains("rename \(StubFrontend.iid) to shed"))
            #expect(calls.contains { $0.hasPrefix("update sEsS000002") && $0.contains("porch") })
        }
    }

    @Test("labels a board, and lists the boards of a label page by page")
    func labels() async throws {
        try await Person.loggedIn { person in
            #expect(await person.types("boards label greenhouse barn north")
                == "! ✓ greenhouse (\(StubFrontend.iid)) has barn\n[0]")
            #expect(await person.types("boards label greenhouse --none")
                == "! ✓ greenhouse (\(StubFrontend.iid)) has no labels\n[0]")
            let listed = await person.types("boards list --label barn --search Gre%20en --json")
            // The board of both pages once.
            #expect(listed.matches(of: /"name":"greenhouse"/).count == 1)
            let calls = await person.console.frontend.calls
            #expect(calls.contains("label \(StubFrontend.iid) barn north"))
            #expect(calls.contains("page everyone false name 200 gre%20en barn"))
            #expect(calls.last == "page everyone false name 200 gre%20en barn after greenhouse")
            #expect(await person.types("boards label greenhouse").hasSuffix("[2]"))
            #expect(await person.types("boards label greenhouse NORTH").hasSuffix("[0]"))
            let told = await person.types("boards label greenhouse B\u{e4}rn")
            #expect(told.contains("is no label: use 1 to 32 of") && told.hasSuffix("[2]"))
            #expect(await person.types("boards list --label a/b").hasSuffix("[2]"))
        }
    }

    @Test("lists who may log in")
    func userList() async throws {
        try await Person.loggedIn { person in
            #expect(await person.types("users") == """
                NAME   STATE     ID          RIGHTS                    CREATED
                alice  enabled   uSeR000001  administrator, may claim  \
                2023-11-14 22:13 (2 min ago)
                bob    disabled  uSeR000002                            \
                2023-11-14 22:13 (2 min ago)
                [0]
                """)
        }
    }

    @Test("reads the audit log to the second, of one board if asked")
    func audit() async throws {
        try await Person.loggedIn { person in
            #expect(await person.types("audit --board \(StubFrontend.iid)") == """
                TIME                 EVENT  ACTOR  SESSION  \
                BOARD                                 DETAIL
                2023-11-14 22:13:23  claim  alice           \
                \(StubFrontend.iid)  greenhouse
                [0]
                """)
            #expect(await person.console.frontend.calls.last == "audit 50 \(StubFrontend.iid)")
        }
    }

    @Test("claims with a session made elsewhere, and says what the authority says", arguments: [
        ("r:elsewhere\n", " imported"), ("  r:elsewhere", " imported"),
        (#"{"sessionToken":"r:elsewhere"}"#, " imported"),
        (#"{"sessionToken":"r:elsewhere","accessToken":"a.b.c","label":"shed"}"#,
         #" custom {"label":"shed"} imported with access"#),
    ])
    func sessionFile(text: String, noted: String) async throws {
        try await Person.loggedIn { person in
            await person.console.frontend.noteOnClaims(["its end is\u{1b}[2J not known here"])
            let file = try person.write("session", text)
            let seen = await person.types(
                "claim - --session-file \(file) --json", input: RouteTests.claimURL)
            #expect(seen.contains("! note: its end is\\u{1b}[2J not known here\n"))
            #expect(seen.contains(#""notes":["its end is\u001b[2J not known here"]"#))
            #expect(seen.hasSuffix("[0]"))
            #expect(!seen.contains("elsewhere"))
            #expect(await person.console.frontend.calls.contains(
                "claim greenhouse for 0 s scope none" + noted))
        }
    }

    @Test("keeps a refresh token to itself, and names a file that others can read")
    func openSessionFile() async throws {
        try await Person.loggedIn { person in
            let text = #"{"sessionToken":"r:elsewhere","refreshToken":"rt:elsewhere"}"#
            let file = try person.write("session", text, mode: 0o644)
            let seen = await person.types(
                "claim - --session-file \(file)", input: RouteTests.claimURL)
            #expect(seen.contains("! note: others can read \(file); chmod 600 it\n"))
            #expect(seen.contains(
                "! note: the refreshToken in \(file) is not sent; the authority makes its own\n"))
            #expect(seen.hasSuffix("[0]"))
            let loose = try person.write("loose", text, mode: 0o666)
            let refused = await person.types(
                "claim - --session-file \(loose)", input: RouteTests.claimURL)
            #expect(refused.contains("too open") && refused.hasSuffix("[78]"))
        }
    }

    @Test("sends nothing from a file that holds no session, and repeats nothing of it", arguments: [
        "", "elsewhere", "r:else where", "r:", "{", "[]", #"{"label":"elsewhere"}"#,
        #"{"sessionToken":"elsewhere"}"#, #"{"sessionToken":"r:elsewhere","accessToken":7}"#,
    ])
    func badSessionFile(text: String) async throws {
        try await Person.loggedIn { person in
            let file = try person.write("session", text)
            let seen = await person.types(
                "claim - --session-file \(file)", input: RouteTests.claimURL)
            #expect(seen.hasPrefix("! postern: configuration: \(file): "))
            #expect(seen.hasSuffix("[78]"))
            #expect(!seen.contains("elsewhere") && !seen.contains("else where"))
            #expect(await person.console.frontend.calls.count == 1)
        }
    }
}
