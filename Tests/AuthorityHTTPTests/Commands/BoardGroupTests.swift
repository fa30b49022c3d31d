import AdminCommands
import AuthorityCore
import Sessions
import Testing
import Wire

@Suite("A group of boards on the command line")
struct BoardGroupTests {
    private static let shed = "3fa00c0e-2b7a-4d4e-9c55-0123456789ab"
    private static let barn = "77777777-2b7a-4d4e-9c55-0123456789ab"
    private static let line = "boards label --label barn --add dry --json"

    /// The boards greenhouse, shed and barn.
    private func withGroup(_ body: @Sendable (Person) async throws -> Void) async throws {
        try await Person.loggedIn { person in
            await person.console.frontend.addBoard(Self.shed, "shed")
            await person.console.frontend.addBoard(Self.barn, "barn")
            try await body(person)
        }
    }

    /// Checks what the person saw: a line for each board, the same as JSON, and the end.
    private func expect(_ seen: String, _ words: [(isDone: Bool, text: String)], _ end: [String]) {
        let lines = seen.split(separator: "\n").map(String.init)
        let boards = ["greenhouse (3f1f7c0e)", "shed (3fa00c0e)", "barn (77777777)"]
        #expect(Array(lines.prefix(3)) == zip(boards, words).map { board, word in
            "! \(word.isDone ? "✓" : "✗") \(board): \(word.text)"
        })
        #expect(Array(lines.dropFirst(4)) == end)
        let json = try? JSONValue(parsing: Array((lines.dropFirst(3).first ?? "").utf8))
        let members = json?.asArray?.compactMap(\.asObject) ?? []
        #expect(members.compactMap { $0["installationId"]?.asString }
            == [StubFrontend.iid, Self.shed, Self.barn])
        for (member, word) in zip(members, words) {
            #expect(member["done"] == .bool(word.isDone))
            #expect(member["error"] == (word.isDone ? nil : .string(word.text)))
            #expect((member["result"] == nil) == !word.isDone)
        }
    }

    @Test("stops where the next board would fail in the same way, and names what it left",
        arguments: [
            (.refused(.tooMany("requests", wait: .seconds(7))),
             "authority: too many requests; wait 7 s, then try again (155)", "degraded: ", "[3]"),
            (.failed(layer: "store", text: "x"),
             "authority: store: the store is not available; wait 10 s, then try again", "", "[5]"),
            (.sessionOver, "session: this session is over (209); log in with `postern login`",
             "", "[4]"),
        ] as [(AuthorityError, String, String, String)])
    func stops(failure: AuthorityError, text: String, prefix: String, status: String) async throws {
        try await withGroup { person in
            await person.console.frontend.fail(with: failure, at: "label \(Self.shed)")
            let seen = await person.types(Self.line)
            expect(
                seen, [(true, "no labels"), (false, text), (false, "not tried")],
                ["! postern: \(prefix)\(text)", status])
            #expect(await person.console.frontend.calls.last == "label \(Self.shed) +dry -")
        }
    }

    @Test("goes on after a refusal, and tells some from none by the status", arguments: [
        ("label \(shed)", [true, false, true], "degraded: 1 of 3 not done", "[3]"),
        ("label", [false, false, false], "boards: 3 of 3 not done", "[1]"),
    ])
    func refused(at call: String, done: [Bool], end: String, status: String) async throws {
        try await withGroup { person in
            await person.console.frontend.fail(with: .refused(Refusal(.forbidden, "no")), at: call)
            let seen = await person.types(Self.line)
            expect(
                seen, done.map { ($0, $0 ? "no labels" : "policy: no (119)") },
                ["! postern: \(end)", status])
        }
    }

    @Test("says after ^C what was under way and what it left", .timeLimit(.minutes(1)))
    func interrupted() async throws {
        try await withGroup { person in
            let frontend = person.console.frontend
            await frontend.holdLogins()
            var surroundings = person.surroundings()
            surroundings.takeInterrupt = {
                {
                    while await frontend.calls.last?.hasPrefix("label") != true {
                        try? await Task.sleep(for: .milliseconds(10))
                    }
                }
            }
            let status = await PosternProgram.run(
                ["--authority", person.url, "--profile-dir", person.folder]
                    + Self.line.split(separator: " ").map(String.init), in: surroundings)
            await frontend.releaseLogins()
            expect(
                person.screen.take().joined(separator: "\n"),
                [(false, "interrupted; it may have been done"), (false, "not tried"),
                 (false, "not tried")], ["! postern: interrupted"])
            #expect(status.rawValue == 130)
        }
    }

    @Test("gives no name that another board in the list has")
    func names() async throws {
        try await Person.loggedIn { person in
            await person.console.frontend.addBoard(Self.shed, "far-1")
            #expect(await person.types("boards rename --label barn far-{n}")
                == "! ✓ greenhouse (3f1f7c0e): renamed to far-2\n[0]")
            #expect(await person.console.frontend.calls.last
                == "rename \(StubFrontend.iid) to far-2")
        }
    }
}
