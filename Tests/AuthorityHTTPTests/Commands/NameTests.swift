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
        ("greenhouse", StubFrontend.iid), ("3f1", StubFrontend.iid),
        (StubFrontend.iid, StubFrontend.iid), ("shed", shed), ("3fa", shed), ("barn", barn),
        ("7", barn), (barn, barn),
    ])
    func board(text: String, id: String) async throws {
        try await withBoards { person in
            #expect(await person.types("boards release \(text)") == "! ✓ released \(id)\n[0]")
            #expect(await person.types("boards forget-revocation \(text)")
                == "! ✓ no longer waiting for \(id)\n[0]")
            #expect(await person.types("audit --board \(text) --json").contains(id))
        }
    }

    @Test("that fit several boards or none end with 2 and do nothing", arguments: [
        ("3f", "2 boards begin with 3f: greenhouse (3f1f…), shed (3fa0…); give more of the id"),
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
        "sEsS000002", "greenhouse", "3f1", StubFrontend.iid,
    ])
    func session(text: String) async throws {
        try await Person.loggedIn { person in
            #expect(await person.types("sessions revoke \(text)")
                == "! ✓ revoked sEsS000002\n[0]")
            #expect(await person.types("sessions show \(text)").contains("SESSION  "))
        }
    }

    @Test("that fit several sessions or none end with 2", arguments: [
        ("sEs", "2 sessions begin with sEs: sEsS000001, greenhouse (sEsS000002); "
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
                ! postern: 2 users begin with uSeR: alice (uSeR000001), bob (uSeR000002); \
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
