import AuthorityCore
import AuthorityStore
import Cryptography
import Foundation
import Sessions
import Testing
import Wire

@testable import AuthorityService

@Suite("Authority's store", .everyStore)
struct StoreTests {
    @Test("undoes all of a transaction that throws")
    func rollback() async throws {
        let house = try await House()
        await #expect(throws: AuthorityError.failed(layer: "x", text: "y")) {
            try await house.store.transact { transaction throws(AuthorityError) in
                try transaction.countFailure("k", at: Timestamp(milliseconds: 1))
                throw .failed(layer: "x", text: "y")
            }
        }
        let count = try await house.store.read { transaction throws(AuthorityError) in
            try transaction.failures("k", since: Timestamp(milliseconds: 0))
        }
        #expect(count == 0)
    }

    @Test("counts sequences up, by the clock where that is ahead")
    func sequences() async throws {
        let house = try await House()
        let board = try BoardDouble().installation
        let key = try #require(KeyID("k"))
        let times: [Int64] = [1000, 1000, 500, 2000]
        var numbers: [Int64] = []
        for time in times {
            numbers.append(try await house.store.transact { tx throws(AuthorityError) in
                try tx.nextSequence(
                    sealKey: key, board: board, at: Timestamp(milliseconds: time))
            })
        }
        #expect(numbers == [1000, 1001, 1002, 2000])
    }

    @Test("holds no secret in clear")
    func secrets() async throws {
        let house = try await House()
        let opened = try await house.authority.login(
            LoginAttempt(username: "ada", password: house.password, origin: "x"))
        let ada = try await house.authority.caller(opened.token)
        let live = try await house.provisioned(BoardDouble(), by: ada)
        let program = try await house.authority.brokerLogin(by: ada)
        let consumer = try await house.authority.addConsumer(
            ConsumerOrder(name: #require(ConsumerName("hall"))), by: ada)
        let next = try await live.ask(.refresh(live.provision.tokens.refresh))
        let keys = try await StateFolder(path: "").records(of: house.store)
        var secrets = keys.map { $0.privateKey.reveal() }
        secrets += [
            house.password.reveal(), opened.token.secret.reveal(),
            program.password.reveal(), consumer.login.password.reveal(),
            live.board.secret.reveal(), try live.board.brokerPassword.reveal(),
            live.provision.tokens.session.secret.reveal(),
            live.provision.tokens.refresh.secret.reveal(),
            live.provision.tokens.access.secret.reveal(),
            try #require(next.result?.refreshToken).secret.reveal(),
            try #require(live.provision.broker?.password).reveal(),
        ]
        for file in try FileManager.default.contentsOfDirectory(atPath: house.folder.path)
        where file != "authority.key" {
            let url = URL(fileURLWithPath: "\(house.folder.path)/\(file)")
            let content = try Data(contentsOf: url)
            for secret in secrets {
                #expect(content.range(of: Data(secret)) == nil, "\(file)")
            }
        }
    }

    @Test("does not open what was wrapped for another place, or with a flipped bit")
    func wrapping() async throws {
        let house = try await House()
        let key = try MasterKey(at: "\(house.folder.path)/authority.key")
        var wrapped = try key.wrap(SecretBytes("secret"), place: "a")
        #expect(try key.unwrap(wrapped, place: "a").matches(SecretBytes("secret")))
        #expect(throws: AuthorityError.self) { try key.unwrap(wrapped, place: "b") }
        wrapped[13] ^= 1
        #expect(throws: AuthorityError.self) { try key.unwrap(wrapped, place: "a") }
        #expect(throws: AuthorityError.self) { try key.unwrap([], place: "a") }
    }

    @Test("keeps sessions, keys and what is still to be told over a restart")
    func reopened() async throws {
        let house = try await House()
        let ada = try await house.login()
        let live = try await house.provisioned(BoardDouble(), by: ada)
        try house.store.close()
        let store = try await house.place.open()
        let lines = try await store.read { transaction throws(AuthorityError) in
            try transaction.linesWithJobs()
        }
        #expect(lines == [live.board.installation.description])
        let active = try await store.read { transaction throws(AuthorityError) in
            try transaction.activeSession(on: live.board.installation)
        }
        #expect(active?.id == live.session)
    }

    @Test("counts the boards that are up, whatever their agents call their version")
    func tally() async throws {
        let house = try await House()
        let ada = try await house.login()
        let live = try await house.provisioned(BoardDouble(), by: ada)
        let board = live.board.installation
        for (up, version) in [(true, "\u{0}x"), (true, #"","status":"down","#),
            (false, #""status":"up""#), (false, "\u{0}")] {
            let status = BoardStatus(
                up: up, available: true, version: version, since: Timestamp(milliseconds: 5000))
            try await house.store.transact { transaction throws(AuthorityError) in
                try transaction.setStatus(status, of: board)
            }
            #expect(try await house.store.tally().boardsUp == (up ? 1 : 0), "\(version)")
        }
    }

    @Test("counts what lives by whose it is, what is over by why, and no board that is released")
    func tallies() async throws {
        let house = try await House()
        let ada = try await house.login()
        let live = try await house.provisioned(BoardDouble(), by: ada)
        let second = try await house.provisioned(BoardDouble(), by: ada)
        _ = try await house.device(by: ada)
        // A claim that is open is no session yet, and its board nobody's, whatever it says.
        let open = try BoardDouble()
        _ = try await house.claim(open, by: ada)
        let status = BoardStatus(
            up: true, available: true, version: "1", since: Timestamp(milliseconds: 5000))
        for board in [live.board, second.board, open] {
            try await house.authority.note(status, of: board.installation)
        }
        var tally = try await house.store.tally()
        #expect((tally.boards, tally.boardsUp, tally.users) == (2, 2, 1))
        #expect((tally.sessionsOfPeople, tally.sessionsOfBoards) == (1, 3))
        #expect(tally.endings.isEmpty)

        try await house.authority.release(second.board.installation, by: ada)
        tally = try await house.store.tally()
        #expect((tally.boards, tally.boardsUp) == (1, 1))
        #expect(tally.sessionsOfBoards == 2 && tally.endings == ["revoked": 1])
    }

    @Test("knows when the next session of a board ends by itself")
    func nextEnd() async throws {
        let house = try await House(lifetimes: .device)
        let ada = try await house.login()
        #expect(try await house.store.tally().firsts.nextEnd(under: .device) == nil)
        let live = try await house.provisioned(BoardDouble(), by: ada)
        let made = house.clock.now
        let idle = Duration.seconds(365 * 86_400)
        #expect(try await house.store.tally().firsts.nextEnd(under: .device) == made + idle)
        house.clock.advance(.seconds(3600))
        _ = try await live.authenticate()
        let second = try await house.provisioned(
            BoardDouble(), by: ada, duration: .seconds(86_400))
        let firsts = try await house.store.tally().firsts
        #expect(firsts.nextEnd(under: .device) == second.provision.session.expiresAt)
        let whole = Timestamp(milliseconds: made.seconds * 1000)
        #expect(firsts.nextEnd(under: .highSecurity) == house.clock.now + .seconds(1800))
        #expect(firsts.createdAt == whole && firsts.absoluteLimit == nil)
    }

    @Test("leaves a board the newest of its replies, and others theirs")
    func replies() async throws {
        let house = try await House()
        let (board, other) = (try BoardDouble().installation, try BoardDouble().installation)
        let ids = try (0..<5).map { _ in try MessageID.fresh() }
        try await house.store.transact { tx throws(AuthorityError) in
            for (number, id) in ids.enumerated() {
                for owner in [board, other] {
                    try tx.save(ReplyRecord(
                        installation: owner, request: id, payload: [UInt8(number)],
                        createdAt: house.clock.now, expiresAt: nil))
                }
                try tx.trimReplies(of: board, toNewest: 2)
            }
        }
        let found = try await house.store.read { tx throws(AuthorityError) in
            var found: [[Int]] = [[], []]
            for (number, id) in ids.enumerated() {
                if try tx.reply(to: id, of: board) != nil { found[0].append(number) }
                if try tx.reply(to: id, of: other) != nil { found[1].append(number) }
            }
            return found
        }
        #expect(found == [[3, 4], [0, 1, 2, 3, 4]])
    }

    @Test("is not opened if it is no database")
    func notADatabase() async throws {
        let folder = try TemporaryFolder()
        try MasterKey.make(at: "\(folder.path)/authority.key")
        let path = "\(folder.path)/authority.db"
        try Data(repeating: 7, count: 8192).write(to: URL(fileURLWithPath: path))
        #expect(throws: AuthorityError.self) {
            try SQLiteAuthorityStore(
                path: path, wrapping: MasterKey(at: "\(folder.path)/authority.key"))
        }
        let after = try Data(contentsOf: URL(fileURLWithPath: path))
        #expect(after == Data(repeating: 7, count: 8192))
    }
}
