import AuthorityCore
import Foundation
import Sessions
import Testing
import Wire

@Suite("Command line")
struct CommandLineTests {
    @Test("logs in, keeps the token in a file of its own, and says nothing of it")
    func login() async throws {
        try await Person.with { person in
            let seen = await person.types(
                "login --username alice --password-file - --json", input: "correct\n")
            #expect(seen == """
                ! ✓ logged in at \(person.url) as alice
                {"objectId":"uSeR000001","username":"alice"}
                [0]
                """)
            let file = person.folder + "/profile.json"
            let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions]
            #expect(mode as? Int == 0o600)
            #expect(try String(contentsOfFile: file, encoding: .utf8).contains(StubFrontend.token))
            #expect(await person.types("whoami") == """
                alice at \(person.url) (administrator, may claim)
                [0]
                """)
        }
    }

    @Test("tells a wrong password from a wrong usage, by its words and status", arguments: [
        ("login --username alice --password-file -", "wrong",
         "! postern: authority: Invalid username/password. (101)\n[1]"),
        ("login --username alice --password-file -", "",
         "! postern: the password is empty\n[2]"),
        ("login --username alice", "", "! postern: no password was given\n[2]"),
        ("boards", "",
         "! postern: session: you are not logged in; log in with `postern login`\n[4]"),
        ("logout", "", "! postern: nothing to do: you are logged out\n[2]"),
    ])
    func loginFailures(line: String, input: String, seen: String) async throws {
        try await Person.with { person in
            #expect(await person.types(line, input: input) == seen)
        }
    }

    @Test("lists boards as a table that fits, and as JSON")
    func boards() async throws {
        try await Person.loggedIn { person in
            let expires = ("ENDS                        ", "2023-11-14 23:13 (in 58 min)")
            let seen = ("LAST SEEN                   ", "2023-11-14 22:14 (1 min ago)")
            #expect(await person.types("boards list") == [
                "NAME        STATUS  SESSION  \(expires.0)  \(seen.0)  LABELS  OWNER"
                    + "  BOARD",
                "greenhouse  up      active   \(expires.1)  \(seen.1)          alice"
                    + "  \(StubFrontend.iid)",
                "[0]",
            ].joined(separator: "\n"))
            let narrow = await person.types("boards", width: 80).split(separator: "\n")
            #expect(narrow.allSatisfy { $0.count <= 80 })
            #expect(await person.types("boards list --json") == """
                [{"installationId":"\(StubFrontend.iid)","labels":[],\
                "lastSeen":1700000060,"name":"greenhouse","owner":"alice",\
                "renewable":false,"renewal":null,\
                "sessionAvailable":true,"sessionEnd":null,"sessionEndCause":"expiry",\
                "sessionEndsAt":1700003600,"sessionExpiresAt":1700003600,\
                "sessionId":"sEsS000002","sessionState":"active",\
                "sessionWarning":null,"sharedRight":null,"status":"up","version":"0.1"}]
                [0]
                """)
        }
    }

    @Test("shows a board, and when its session ends")
    func board() async throws {
        try await Person.loggedIn { person in
            let shown = await person.types("boards show greenhouse")
            #expect(shown.contains("session       sEsS000002, active"))
            #expect(shown.contains("ends          2023-11-14 23:13 (in 58 min)"))
            #expect(!shown.contains("next step") && shown.hasSuffix("[0]"))
        }
    }

    @Test("lists sessions as JSON with whole seconds and null for never")
    func sessions() async throws {
        try await Person.loggedIn { person in
            #expect(await person.types("sessions list --json") == """
                [{"boardName":null,"createdAt":1700000001,"createdWith":{"action":"login",\
                "authProvider":"password"},"custom":{"label":"porch"},"endCause":null,\
                "endsAt":null,"expiresAt":null,"generation":null,"installationId":null,\
                "lastSeen":null,"latestEnd":1700007200,"objectId":"sEsS000001",\
                "restricted":false,"scope":null,"scopePending":false,"state":"active",\
                "user":"uSeR000001","username":"alice"},\
                {"boardName":"greenhouse","createdAt":1700000001,"createdWith":\
                {"action":"create","authProvider":"password"},"custom":{"label":"porch"},\
                "endCause":"expiry","endsAt":1700003600,\
                "expiresAt":1700003600,"generation":7,\
                "installationId":"\(StubFrontend.iid)","lastSeen":1700000060,\
                "latestEnd":1700007200,"objectId":"sEsS000002","restricted":true,\
                "scope":null,"scopePending":false,"state":"active",\
                "user":"uSeR000001","username":"alice"}]
                [0]
                """)
            #expect(await person.types("sessions revoke sEsS000002 --json") == """
                ! ✓ revoked sEsS000002 of alice on greenhouse (3f1f7c0e)
                {"brokerTold":true,"objectId":"sEsS000002","state":"revoked"}
                [0]
                """)
            let shown = await person.types("sessions show sEsS000002")
            #expect(shown.contains("kind          restricted"))
            #expect(shown.contains("generation    7"))
            #expect(shown.contains("label         porch"))
            #expect(await person.console.frontend.calls.suffix(3)
                == ["revoke sEsS000002", "session sEsS000002", "session sEsS000002"])
        }
    }

    @Test("says where a session's end is not yet known to the broker")
    func untold() async throws {
        try await Person.loggedIn { person in
            await person.console.frontend.leaveBrokerUntold()
            #expect(await person.types("sessions revoke sEsS000002 --json") == """
                ! ✓ revoked sEsS000002 of alice on greenhouse (3f1f7c0e); it is recorded, but \
                not yet delivered: the broker does not answer, so the board may stay connected; \
                the authority tells the broker as soon as it can
                {"brokerTold":false,"objectId":"sEsS000002","state":"revoked"}
                [0]
                """)
            #expect(await person.types("boards release \(StubFrontend.iid) --json") == """
                ! deleting the data of \(StubFrontend.iid); --keep-data would keep it
                ! ✓ released \(StubFrontend.iid); it is recorded, but not yet delivered: the \
                broker does not answer, so the board may stay connected; the authority tells the \
                broker as soon as it can
                {"brokerTold":false,"installationId":"\(StubFrontend.iid)"}
                [0]
                """)
        }
    }

    @Test("lists open claims, ends one, and waits no longer for a board's answer")
    func openClaims() async throws {
        try await Person.loggedIn { person in
            let listed = await person.types("boards claims --json")
            #expect(listed.contains(#""claimant":"bob""#) && listed.contains(StubFrontend.claimID))
            let table = await person.types("boards claims --everyone")
            #expect(table.contains("greenhouse") && table.contains("[0]"))
            #expect(await person.types("boards end-claim \(StubFrontend.claimID)") == """
                ! ✓ ended claim \(StubFrontend.claimID)
                [0]
                """)
            #expect(await person.types("boards forget-revocation \(StubFrontend.iid)") == """
                ! ✓ no longer waiting for \(StubFrontend.iid)
                [0]
                """)
        }
    }

    @Test("claims a board, from the command line or standard input", arguments: [true, false])
    func claim(fromInput: Bool) async throws {
        try await Person.loggedIn { person in
            let url = RouteTests.claimURL
            let seen = await person.types(
                "claim \(fromInput ? "-" : url) --duration 30d --json", input: url + "\n")
            #expect(seen == """
                ! ✓ parsed: board greenhouse 00010203-0405-4607-8809-0a0b0c0d0e0f
                ! ✓ sealed and sent: session sEsS000002
                ! ✓ opened by the board
                ! ✓ session available; it ends 2023-11-14 23:13 (in 58 min), \
                or 1 year after the board was last heard
                ! next: a program on the board writes, and `postern watch` shows what arrives; \
                `sudo postern-agent-app add NAME` on the board makes its login
                {"claimId":"\(StubFrontend.claimID)","expiresAt":1700000600,\
                "installationId":"\(StubFrontend.iid)","notes":[],"reason":null,\
                "renewal":false,"sessionId":"sEsS000002","state":"accepted"}
                [0]
                """)
            #expect(await person.console.frontend.calls.contains(
                "claim greenhouse for 2592000 s scope none"))
        }
    }

    @Test("says what became of a claim that no board took", arguments: [
        (Claim.State.sent, "[5]",
         "board: the board has not answered in 1 s; the claim stays open until"),
        (.rejected, "[1]", "board: the board rejected the claim: already[2J claimed (119)"),
        (.expired, "[1]", "board: the claim expired without an answer"),
        (.cancelled, "[1]", "authority: the claim was cancelled"),
    ])
    func claimFailures(state: Claim.State, status: String, words: String) async throws {
        try await Person.loggedIn { person in
            await person.console.frontend.answerClaims(with: state)
            let seen = await person.types("claim - --wait 1s --json", input: RouteTests.claimURL)
            #expect(seen.hasSuffix(status))
            #expect(seen.contains("✗ opened by the board"))
            #expect(seen.contains(words))
            #expect(seen.contains("\"state\":\"\(state.rawValue)\""))
        }
    }

    @Test("ends with the status that tells what to do", arguments: [
        (ErrorCode.invalidSession, 4, "session: because (209)"),
        (.forbidden, 77, "policy: because (119)"),
        (.notFound, 1, "authority: because (101)"),
        (.rateLimit, 1, "authority: because (155)"),
    ] as [(ErrorCode, Int, String)])
    func refusals(code: ErrorCode, status: Int, words: String) async throws {
        try await Person.loggedIn { person in
            await person.console.frontend.fail(with: .refused(Refusal(code, "because")))
            let seen = await person.types("users")
            #expect(seen.contains(words))
            #expect(seen.hasSuffix("[\(status)]"))
        }
    }

    @Test("names the layer that failed behind the authority")
    func failed() async throws {
        try await Person.loggedIn { person in
            await person.console.frontend.fail(with: .failed(layer: "crypto", text: "no luck"))
            #expect(await person.types("boards")
                == "! postern: authority: crypto: no luck; wait 10 s, then try again\n[1]")
        }
    }

    @Test("ends as without a connection where the authority's store is away")
    func storeAway() async throws {
        try await Person.loggedIn { person in
            await person.console.frontend.fail(with: .failed(layer: "store", text: "db.example"))
            #expect(await person.types("boards") == """
                ! postern: authority: store: the store is not available; wait 10 s, then try again
                [5]
                """)
        }
    }

    @Test("calls a full disk of the authority that")
    func storeFull() async throws {
        try await Person.loggedIn { person in
            let error = AuthorityError.failed(layer: AuthorityError.diskFull, text: "db.example")
            await person.console.frontend.fail(with: error)
            #expect(await person.types("boards") == """
                ! postern: authority: the authority's disk is full, and somebody must make room \
                there; wait 10 s, then try again
                [1]
                """)
        }
    }

    @Test("tells which layer lost it on the way", arguments: [
        ("http://127.0.0.1:9", "! postern: TCP: 127.0.0.1 port 9: Connection refused"),
        ("https://127.0.0.1:PORT",
         "! postern: TLS: the TLS handshake with https://127.0.0.1:PORT failed"),
        ("https://nowhere.invalid", "! postern: name lookup: nowhere.invalid has no address"),
    ])
    func layers(url: String, words: String) async throws {
        try await Person.with { person in
            let fill = { (text: String) in
                text.replacingOccurrences(of: "PORT", with: "\(person.console.port)")
            }
            let line = "--authority \(fill(url)) login --username alice --password-file -"
            let seen = await person.types(line, input: "correct")
            #expect(seen.hasPrefix(fill(words)), "\(seen)")
            #expect(seen.hasSuffix("[5]"))
        }
    }

    @Test("sends a token to the authority that gave it, and to no other")
    func otherAuthority() async throws {
        try await Person.loggedIn { person in
            let seen = await person.types("--authority http://localhost:1 boards")
            #expect(seen.contains("not at http://localhost:1"))
            #expect(seen.hasSuffix("[4]"))
        }
    }

    @Test("adds a user and logs out")
    func users() async throws {
        try await Person.loggedIn { person in
            #expect(await person.types("users add bob --claim --password-file -", input: "pw")
                == "! ✓ added bob (uSeR000002)\n[0]")
            #expect(await person.types("logout") == "! ✓ logged out at \(person.url)\n[0]")
            #expect(!FileManager.default.fileExists(atPath: person.folder + "/profile.json"))
        }
    }

    @Test("refuses a login that others could have read")
    func looseProfile() async throws {
        try await Person.loggedIn { person in
            try FileManager.default.setAttributes(
                [.posixPermissions: 0o644], ofItemAtPath: person.folder + "/profile.json")
            let seen = await person.types("whoami")
            #expect(seen.contains("mode 0644 is too open"))
            #expect(seen.hasSuffix("[78]"))
        }
    }
}
