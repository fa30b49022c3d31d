import AuthorityCore
import Sessions
import Testing
import Wire

/// PostgreSQL does them in one transaction, SQLite in one commit.
@Suite("Requests that wait together", .everyStore)
struct RequestGroupTests {
    @Test("are each answered for their own board, and with one reply however often they come")
    func together() async throws {
        let house = try await House()
        let ada = try await house.login()
        var lives: [LiveBoard] = []
        for _ in 0..<8 { lives.append(try await house.provisioned(BoardDouble(), by: ada)) }
        let answers = try await withThrowingTaskGroup { group in
            for (number, live) in lives.enumerated() {
                let payload = try live.payload(
                    .authenticate(live.provision.tokens.session, durationMinutes: nil))
                for _ in 0..<4 {
                    group.addTask {
                        let board = live.board.installation
                        return (number, try await house.authority.handle(payload, from: board))
                    }
                }
            }
            return try await group.reduce(into: [[BoardAnswer]](repeating: [], count: 8)) {
                $0[$1.0].append($1.1)
            }
        }
        for (live, answers) in zip(lives, answers) {
            #expect(answers.count == 4)
            #expect(answers.allSatisfy { $0 == answers.first })
            let reply = try live.reply(in: try #require(answers.first))
            #expect(reply.result?.session?.objectID == live.session)
        }
    }

    @Test("fail alone, and what one that fails has written is not kept")
    func failure() async throws {
        let house = try await House()
        let now = house.clock.now
        let ids = try (0..<40).map { _ in try MessageID.fresh() }
        let boards = try ids.map { _ in try BoardDouble().installation }
        await withTaskGroup { group in
            for (number, (id, board)) in zip(ids, boards).enumerated() {
                let question = FirstQuestion(request: id, board: board, tokenHash: [1])
                group.addTask {
                    do throws(AuthorityError) {
                        let isNew = try await house.store.transact(question) {
                            transaction, look throws(AuthorityError) in
                            try transaction.save(ReplyRecord(
                                installation: board, request: id, payload: [2], createdAt: now,
                                expiresAt: nil))
                            guard number % 8 != 0 else {
                                throw .failed(layer: "test", text: "number \(number)")
                            }
                            return look.reply == nil && look.session == nil
                        }
                        #expect(isNew && number % 8 != 0)
                    } catch {
                        #expect("\(error)".contains("number \(number)") && number % 8 == 0)
                    }
                }
            }
        }
        let kept = try await house.store.read { transaction throws(AuthorityError) in
            var kept: [Int] = []
            for (number, (id, board)) in zip(ids, boards).enumerated()
            where try transaction.reply(to: id, of: board) != nil { kept.append(number) }
            return kept
        }
        #expect(kept == (0..<40).filter { $0 % 8 != 0 })
    }
}
