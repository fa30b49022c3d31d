import AdminCommands
import AuthorityCore
import Sessions
import Testing

@Suite("Names on the command line")
struct NameTests {
    private static let shed = "3fa00c0e-2b7a-4d4e-9c55-0123456789ab"
    private static let barn = "77777777-2b7a-4d4e-9c55-0123456789ab"

    private func withBoards(_ body: @Sendable (Person) async throws -> Void) async throws {
        try await Person.loggedIn { person in
            await person.console.frontend.addBoard(Self.shed, "shed")
            await person.console.frontend.addBoard(Self.barn, "barn", isBobs: true)
            try await body(person)
        }
    }

    @Test("find a board by its name, its id, or a unique beginning", arguments: [
        ("greenhouse", "greenhouse", StubFrontend.iid), ("3f1f", "greenhouse", StubFrontend.iid),
        (StubFrontend.iid, nil, StubFrontend.iid), ("shed", "shed", shed),
        ("3fa0", "shed", shed), ("barn", "barn", barn), ("7777", "barn", barn),
        (barn, nil, barn),
    ])
    func board(text: String, name: String?, id: String) async throws {
        let words = name.map { "\($0) (\(id))" } ?? id
        try await withBoards { person in
            let told = await person.types("boards release \(text) --keep-data")
            #expect(told == "! ✓ released \(words)\n[0]")
            #expect(await person.types("boards forget-revocation \(text)")
                == "! ✓ no longer waiting for \(words)\n[0]")
            #expect(await person.types("audit --board \(text) --json").contains(id))
        }
    }

    @Test("that begin another thing's id end with 2 and do nothing", arguments: [
        ("release 3f1f7c0e", "3f1f7c0e", "2 boards match 3f1f7c0e: "
            + "greenhouse (3f1f…), 3f1f7c0e (7777…)"),
        ("forget-revocation 3f1f", "3f1f", "2 boards match 3f1f: "
            + "greenhouse (3f1f…), 3f1f (7777…)"),
    ], [false, true])
    func namedLikeAnotherID(
        _ typed: (line: String, name: String, words: String), isBobs: Bool
    ) async throws {
        try await Person.loggedIn { person in
            await person.console.frontend.addBoard(Self.barn, typed.name, isBobs: isBobs)
            #expect(await person.types("boards \(typed.line)")
                == "! postern: \(typed.words); give more of the id\n[2]")
            let calls = await person.console.frontend.calls
            #expect(!calls.contains { $0.hasPrefix("release") || $0.hasPrefix("forget") })
        }
    }

    @Test("of a session that begin another board's id end with 2 and do nothing")
    func sessionNamedLikeAnotherID() async throws {
        try await Person.loggedIn { person in
            await person.console.frontend.addSession(board: Self.barn, "3f1f7c0e")
            #expect(await person.types("sessions revoke 3f1f7c0e") == """
                ! postern: 2 sessions match 3f1f7c0e: greenhouse (sEsS000002), \
                3f1f7c0e (sEsS000003); give more of the id
                [2]
                """)
            let calls = await person.console.frontend.calls
            #expect(!calls.contains { $0.hasPrefix("revoke") })
        }
    }

    @Test("that fit several boards or none end with 2 and do nothing", arguments: [
        ("attic", "no board is called attic, and no id of a board begins with it; "
            + "`postern boards` shows both"),
    ])
    func noBoard(text: String, words: String) async throws {
        try await withBoards { person in
            #expect(await person.types("boards release \(text)") == "! postern: \(words)\n[2]")
            let calls = await person.console.frontend.calls
            #expect(!calls.contains { $0.hasPrefix("release") })
        }
    }

    @Test("find a session by its id, a unique beginning, or its board", arguments: [
        "sEsS000002", "greenhouse", "3f1f", StubFrontend.iid,
    ])
    func session(text: String) async throws {
        try await Person.loggedIn { person in
            #expect(await person.types("sessions revoke \(text)")
                == "! ✓ revoked sEsS000002 of alice on greenhouse (3f1f7c0e)\n[0]")
            #expect(await person.types("sessions show \(text)").contains("SESSION  "))
        }
    }

    @Test("that fit several sessions or none end with 2", arguments: [
        ("sEsS", "2 sessions match sEsS: sEsS000001, greenhouse (sEsS000002); "
            + "give more of the id"),
        ("attic", "no session's id begins with attic, and no board of that name or id has a "
            + "living session; `postern sessions` shows them"),
    ])
    func noSession(text: String, words: String) async throws {
        try await Person.loggedIn { person in
            #expect(await person.types("sessions revoke \(text)") == "! postern: \(words)\n[2]")
        }
    }

    @Test("find a user by a name, an id, or a unique beginning of it")
    func user() async throws {
        try await Person.loggedIn { person in
            for text in ["bob", "uSeR000002"] {
                #expect(await person.types("users enable \(text)") == "! ✓ enabled bob\n[0]")
            }
            #expect(await person.types("users disable uSeR") == """
                ! postern: 2 users match uSeR: alice (uSeR000001), bob (uSeR000002); \
                give more of the id
                [2]
                """)
        }
    }

    @Test("are offered to a shell, and nothing is offered without a login", arguments: [
        (["boards", "release", "--", "positional@0"], "", "greenhouse\nshed"),
        (["boards", "release", "--", "positional@0"], "3fa", "greenhouse\nshed\n\(shed)"),
        (["sessions", "show", "--", "positional@0"], "", "sEsS000001\ngreenhouse"),
        (["sessions", "show", "--", "positional@0"], "sEsS000002",
         "sEsS000001\ngreenhouse\nsEsS000002"),
        (["users", "enable", "--", "positional@0"], "", "alice\nbob"),
        (["watch", "--", "--board"], "", "greenhouse\nshed"),
    ])
    func offered(argument: [String], typed: String, words: String) async throws {
        try await withBoards { person in
            let line = { (folder: String) in
                ["---completion"] + argument + ["5", "\(typed.count)", "postern",
                    "--profile-dir=\(folder)", "--authority", person.url, "x", typed]
            }
            let surroundings = person.surroundings()
            #expect(await PosternProgram.run(line(person.folder), in: surroundings) == .ok)
            #expect(person.screen.take().joined(separator: "\n") == words)
            #expect(await PosternProgram.run(line("/nonexistent"), in: surroundings) == .ok)
            #expect(person.screen.take().joined().isEmpty)
            await person.console.frontend.fail(with: .sessionOver)
            #expect(await PosternProgram.run(line(person.folder), in: surroundings) == .ok)
            #expect(person.screen.take().joined().isEmpty)
        }
    }
}
